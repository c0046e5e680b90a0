"""Every command with ``--json``: an error is one JSON document on standard output, with an exit status that says it."""

import json
import socket
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from deploy.cli import main
from deploy.documentation.commands import all_commands
from kennel_client.cli.exit_codes import ExitCode

MORE_ARGUMENTS = {"kennel admin account delete": ["--yes"]}
SERVER_SETTINGS = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "BLOB_URL", "KENNEL_TOKEN", "KENNEL_URL")
COMMANDS = {
    name: command for name, command in all_commands().items() if any("--json" in each.opts for each in command.params)
}


def value_of(parameter: Any) -> str:
    """A value of the parameter's type, of something that does not exist."""
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) is Literal:
        return str(get_args(annotation)[0])
    return {Path: "file/nosuch", int: "1", float: "1", datetime: "2030-01-01"}.get(annotation, "nosuch")


def arguments_of(command: Any) -> list[str]:
    """The required arguments and options of a command."""
    words: list[str] = []
    for parameter in command.params:
        if parameter.required:
            option = [parameter.opts[0]] if parameter.param_type_name == "option" else []
            words += [*option, *[value_of(parameter)] * max(1, parameter.nargs)]
    return words


@pytest.fixture(scope="module")
def unreachable() -> Iterator[str]:
    """The address of a port that nobody listens at, and nobody else can take."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_an_error_is_a_problem_on_standard_output(
    name: str, unreachable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()  # nothing can be below it, for root neither
    monkeypatch.chdir(tmp_path)
    for variable in SERVER_SETTINGS:
        monkeypatch.delenv(variable, raising=False)
    for folder in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{folder}_HOME", str(tmp_path))
    monkeypatch.setattr("kennel_client.steps.MAX_REQUEST_RETRIES", 0)
    monkeypatch.setenv("KENNEL_URL", unreachable)
    monkeypatch.setattr(
        sys,
        "argv",
        ["kennel", *name.split()[1:], *arguments_of(COMMANDS[name]), *MORE_ARGUMENTS.get(name, []), "--json"],
    )
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capsys.readouterr()
    document: dict[str, Any] = json.loads(out)
    assert list(document) == ["problem"], out + err
    assert document["problem"]["type"].startswith("urn:kennel:problem:")
    assert document["problem"]["title"]
    assert ExitCode(int(end.value.code or 0)) not in {ExitCode.DONE, ExitCode.INTERRUPTED}
