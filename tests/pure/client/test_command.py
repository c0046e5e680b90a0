"""The ``kennel`` command of the client alone: its subcommands, and its errors for those of the server."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from deploy.cli.main import app as whole
from deploy.cli.main import make_server_app
from deploy.documentation.commands import all_commands
from kennel_client.cli import main
from kennel_client.errors import Unreadable
from scorer.errors import Unavailable
from tests.documents import ROOT

DIALOGUE = "prompts for input"
PROCESS = "runs until Ctrl-C"
DOCUMENT = "always prints JSON"
WITHOUT_JSON = {
    "demo": PROCESS,
    "up": PROCESS,
    "delete-account": DIALOGUE,
    "login": DIALOGUE,
    "logout": DIALOGUE,
    "my-data": DOCUMENT,
    "kaggle": "calls the official client",
}
"""Commands without ``--json``, and the reason."""
PASSED_ON = {"kaggle"}
"""Commands that pass all arguments, including ``-h``, to another program."""
COMPLETED = {
    "kennel sub": {"submit"},
    "kennel admin shown-": {"shown-track"},
    "kennel admin competition ver": {"versions"},
    "kennel status --w": {"--watch"},
    "kennel competitions --format ": {"table", "csv", "json"},
}
"""Completions, by the beginning of a command."""


def list_command_names(app: typer.Typer, *group: str) -> set[str]:
    """The names of the subcommands in the ``--help`` of an app or one of its groups."""
    command = typer.main.get_command(app)
    for name in group:
        command = command.commands[name]  # type: ignore[attr-defined]
    subcommands = command.commands.items()  # type: ignore[attr-defined]
    return {name for name, subcommand in subcommands if not subcommand.hidden}


def test_the_client_names_the_commands_that_the_server_adds() -> None:
    client = main.client_app()
    assert list_command_names(whole) - list_command_names(client) == set(main.SERVER_COMMANDS)
    assert list_command_names(whole, "admin") - list_command_names(client, "admin") == {"installation"}
    for noun, names in main.SERVER_ADMIN_COMMANDS.items():
        assert list_command_names(whole, "admin", noun) - list_command_names(client, "admin", noun) == set(names)
    assert list_command_names(client) <= list_command_names(whole)
    assert {"submit", "status", "leaderboard", "check", "admin"} <= list_command_names(client)
    assert {"create", "checklist", "publish"} <= list_command_names(client, "admin", "competition")


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        (["up", "--port", "0"], "api,worker,standalone"),
        (["score", "--help"], "worker"),
        (["admin", "account", "create-admin", "ada"], "api,worker,standalone"),
        (["admin", "installation", "doctor", "--json"], "api,worker,standalone"),
    ],
)
def test_a_command_of_the_server_names_the_missing_packages(words: list[str], extras: str) -> None:
    done = CliRunner().invoke(main.client_app(), words)
    assert isinstance(done.exception, Unreadable)
    name = " ".join(words[:3] if words[0] == "admin" else words[:1])
    assert f"`kennel {name}` needs the server" in str(done.exception)
    assert f"pip install ./client '.[{extras}]'" in str(done.exception)


@pytest.mark.parametrize("text", ["dogs", "tau", "tau=", "=0.5", "tau=much", "tau=nan", "tau=inf"])
def test_a_constant_of_a_shown_track_is_a_name_and_a_number(text: str) -> None:
    words = ["admin", "shown-track", "add", "dogs", "mifid_2", "mifid", "dinov2", "--constant", text]
    done = CliRunner(env={"KENNEL_TOKEN": "x"}).invoke(main.client_app(), words)
    assert isinstance(done.exception, Unreadable)
    assert str(done.exception) == f"{text} does not have the form NAME=NUMBER."


def test_no_command_takes_a_secret_on_the_command_line() -> None:
    """All users of a machine can see the command lines of all processes."""
    words = {
        (command, name)
        for command, definition in all_commands().items()
        for parameter in definition.params
        for name in (parameter.opts if not getattr(parameter, "is_flag", False) else ())
        if re.search("token|password|secret", name)
    }
    assert words == set()


def test_the_installed_server_offers_the_whole_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        """An entry point as :func:`importlib.metadata.entry_points` returns it."""

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
    assert "Not installed: uvicorn." in str(done.exception)
    assert "pip install ./client '.[api,worker,standalone" in str(done.exception)
    assert ("demo" in str(done.exception)) is (words == ["demo"])


def test_the_client_imports_no_package_of_the_server() -> None:
    code = (
        "import sys; import kennel_client.cli.main, kennel_client.client;"
        "print(sorted({'api', 'deploy', 'scorer', 'worker', 'numpy', 'PIL'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_listing_and_running_commands_imports_no_large_library() -> None:
    """Neither loading every command nor a failing request needs the database, arrays or the queue."""
    code = """
import sys, typer
from deploy.cli.main import main, make_server_app
from tests.pure.client.test_command import walk_commands
assert len(list(walk_commands(typer.main.get_command(make_server_app())))) > 100
sys.argv = ["kennel", "competitions"]
try:
    main()
except SystemExit as end:
    assert end.code == 6, end.code
heavy = {"PIL", "alembic", "celery", "fastapi", "kombu", "numpy", "pydantic_settings", "redis", "sqlalchemy"}
print(sorted({*heavy, "structlog", "torch"} & set(sys.modules)))
"""
    environment = {**os.environ, "KENNEL_URL": "http://127.0.0.1:9", "KENNEL_TOKEN": "none"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def first_paragraph(command: Any) -> str:
    """The first paragraph of a command's help, which its group lists."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def test_groups_list_the_first_paragraph_of_each_commands_help() -> None:
    groups = [typer.main.get_command(make_server_app()), typer.main.get_command(main.client_app())]
    compared = 0
    for group in groups:
        for name in group.list_commands(None):  # type: ignore[attr-defined]
            listed = group.get_command(None, name)  # type: ignore[attr-defined]
            own = group.commands[name]  # type: ignore[attr-defined]
            if hasattr(own, "commands"):
                groups.append(own)
            if listed is not own:
                assert listed.help == first_paragraph(own), name
                compared += 1
    assert compared > 70


def walk_commands(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """The commands of a group and its subgroups, by their full names."""
    for name, member in command.commands.items():
        if hasattr(member, "commands"):
            yield from walk_commands(member, *names, name)
        else:
            yield " ".join([*names, name]), member


def test_every_command_has_json_or_a_reason_against_it() -> None:
    without = {
        name
        for name, command in walk_commands(typer.main.get_command(whole))
        if all("--json" not in parameter.opts for parameter in command.params)
    }
    assert without == WITHOUT_JSON.keys()


def test_every_command_that_prints_a_list_has_formats() -> None:
    """A list is a table for people, or CSV or JSON for programs."""
    options = {
        name: {option for parameter in command.params for option in parameter.opts}
        for name, command in walk_commands(typer.main.get_command(whole))
    }
    lists = {name for name in options if name.rpartition(" ")[2] in {"list", "competitions", "leaderboard", "status"}}
    assert len(lists) > 15
    assert [name for name in sorted(lists) if "--format" not in options[name]] == []


def test_every_command_and_group_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    """``-h`` also works for commands with an id, which may begin with a hyphen."""
    root = typer.main.get_command(whole)
    commands = {name for name, _ in walk_commands(root)}
    groups = {" ".join(name.split()[:-1]) for name in commands}
    for name in sorted((commands | groups) - PASSED_ON):
        assert root.main([*name.split(), "-h"], prog_name="kennel", standalone_mode=False) == 0, name
        assert f"Usage: {' '.join(['kennel', *name.split()])} " in capsys.readouterr().out


def test_an_id_that_begins_with_a_hyphen_and_h_is_not_the_help_option(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KENNEL_URL", "KENNEL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    for words in (["receipt", "-hAbCdE"], ["status", "-h1234"], ["admin", "review", "show", "-help"]):
        done = CliRunner().invoke(main.client_app(), words)
        assert "Usage" not in done.output
        assert "You are not signed in" in str(done.exception)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    """Completion works in a new shell after ``kennel --install-completion``."""
    kennel = tmp_path / "bin" / "kennel"
    kennel.parent.mkdir()
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'client')!r})\nfrom kennel_client.cli.main import client_app\n"
    )
    kennel.write_text(f"#!{sys.executable}\n{program}client_app()()\n")
    kennel.chmod(0o755)
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{kennel.parent}:{os.environ['PATH']}"}

    def bash(script: str) -> str:
        command = ["bash", "--noprofile", "--norc", "-c", script]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout

    bash("kennel --install-completion; true")
    for typed, offered in COMPLETED.items():
        words = typed.split(" ")
        quoted = " ".join(f'"{word}"' for word in words)
        call = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _kennel_completion kennel"
        lines = bash(f'. ~/.bashrc; complete -p kennel; {call}; printf "%s\\n" "${{COMPREPLY[@]}}"').splitlines()
        assert lines[0].endswith("-F _kennel_completion kennel")
        assert set(lines[1:]) == offered
