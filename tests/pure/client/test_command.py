"""The ``kennel`` command of the client alone: which subcommands it has, and what it says of the others."""

import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from deploy.cli.main import app as whole
from deploy.documentation.commands import all_commands
from kennel_client.cli import main
from kennel_client.errors import Unreadable
from scorer.errors import Unavailable


def names_of(app: typer.Typer, *group: str) -> set[str]:
    """The names of an app's subcommands that ``--help`` shows, or those of one of its groups."""
    command = typer.main.get_command(app)
    for name in group:
        command = command.commands[name]  # type: ignore[attr-defined]
    return {name for name, each in command.commands.items() if not each.hidden}  # type: ignore[attr-defined]


def test_the_server_adds_the_commands_that_the_client_names() -> None:
    client = main.client_app()
    assert names_of(whole) - names_of(client) == set(main.SERVER_COMMANDS)
    assert names_of(whole, "admin") - names_of(client, "admin") == set(main.SERVER_ADMIN_COMMANDS)
    assert names_of(client) <= names_of(whole)
    assert {"submit", "status", "leaderboard", "check", "admin"} <= names_of(client)
    assert {"create", "references", "label", "publish"} <= names_of(client, "admin")


def test_no_command_takes_a_secret_as_a_word() -> None:
    """Everybody on a machine sees the command lines of all processes."""
    words = {
        (command, name)
        for command, each in all_commands().items()
        for parameter in each.params
        for name in (parameter.opts if not getattr(parameter, "is_flag", False) else ())
        if re.search("token|password|secret", name)
    }
    assert words == set()


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        (["up", "--port", "0"], "api,worker,standalone"),
        (["score", "--help"], "worker"),
        (["admin", "create-admin", "ada"], "api,worker,standalone"),
    ],
)
def test_a_command_of_the_server_says_what_is_missing(words: list[str], extras: str) -> None:
    done = CliRunner().invoke(main.client_app(), words)
    assert isinstance(done.exception, Unreadable)
    name = "kennel " + " ".join(word for word in words[:2] if word.isalpha() or word == "create-admin")
    assert f"`{name}` belongs to the server" in str(done.exception)
    assert f"pip install ./client '.[{extras}]'" in str(done.exception)


def test_the_installed_server_offers_the_whole_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        """As :func:`importlib.metadata.entry_points` finds it."""

        def load(self) -> object:
            return lambda: 7

    def found(group: str) -> list[Server]:
        assert group == main.SERVER_GROUP
        return [Server()]

    monkeypatch.setattr(main, "entry_points", found)
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 7


def test_the_client_alone_prints_its_own_version() -> None:
    done = CliRunner().invoke(main.client_app(), ["--version"])
    assert done.output.startswith("kennel-client ")


@pytest.mark.parametrize("words", [["up"], ["demo"]])
def test_missing_extras_are_named_before_anything_starts(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(whole, words)
    assert isinstance(done.exception, Unavailable)
    assert "Not installed here: uvicorn." in str(done.exception)
    assert "pip install ./client '.[api,worker,standalone" in str(done.exception)
    assert ("demo" in str(done.exception)) is (words == ["demo"])


def test_the_client_loads_nothing_of_the_server() -> None:
    code = (
        "import sys; import kennel_client.cli.main, kennel_client.async_client, kennel_client.references;"
        "print(sorted({'api', 'deploy', 'scorer', 'worker', 'numpy', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
