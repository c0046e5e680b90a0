"""With ``--json``, every command prints an error as one JSON document on standard output, and exits with its status."""

import json
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from deploy.cli import main
from deploy.documentation.commands import all_commands
from kennel_client.cli.exit_codes import ExitCode
from tests.http_server import self_signed_certificate

MORE_ARGUMENTS = {"kennel admin account delete": ["--yes"]}
SERVER_SETTINGS = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "BLOB_URL", "KENNEL_TOKEN", "KENNEL_URL")
COMMANDS = {
    name: command
    for name, command in all_commands().items()
    if any("--json" in option.opts for option in command.params)
}


def example_value(parameter: Any) -> str:
    """A value of the parameter's type that names something that does not exist."""
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) is Literal:
        return str(get_args(annotation)[0])
    return {Path: "file/nosuch", int: "1", float: "1", datetime: "2030-01-01"}.get(annotation, "nosuch")


def list_arguments(command: Any) -> list[str]:
    """The values of the required arguments and options of a command."""
    words: list[str] = []
    for parameter in command.params:
        if parameter.required:
            option = [parameter.opts[0]] if parameter.param_type_name == "option" else []
            words += [*option, *[example_value(parameter)] * max(1, parameter.nargs)]
    return words


@pytest.fixture(scope="module")
def unreachable() -> Iterator[str]:
    """The address of a port that no process listens on and no other process can take."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture(scope="module")
def foreign_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of a server that starts TLS like PostgreSQL, and the file of a CA that did not sign its certificate."""
    ours, theirs = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("theirs")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*self_signed_certificate(theirs, "db.example.org"))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError):
                    connection.settimeout(10)
                    connection.recv(8)  # "SSLRequest"
                    connection.sendall(b"S")
                    tls.wrap_socket(connection, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], self_signed_certificate(ours, "ca.example.org")[0]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


IN_DATABASE = [
    *(f"kennel admin account {act}" for act in ("create", "create-admin", "delete", "remove-second-factor")),
    *(f"kennel admin account {act}" for act in ("reset-link", "set-role", "token")),
    *(f"kennel admin installation {act}" for act in ("backup", "rotate-signing-key")),
    "kennel migrate",
    "kennel rescore",
]
"""The operator's commands that connect to the database first."""
SETTINGS = {
    "DATABASE_URL": "postgresql://app:sekret@127.0.0.1:{port}/kennel",
    "REDIS_URL": "redis://:sekret@127.0.0.1:1/0",
    "BLOB_URL": "file://{folder}/blobs",
}
FAULTS = {
    "away": ({}, "database-unreachable", "Connection refused"),
    "wrong-ca": (
        {"DATABASE_URL": "postgresql://app:sekret@127.0.0.1:{tls}/kennel?sslmode=verify-full&sslrootcert={ca}"},
        "database-unreachable",
        "certificate verify failed",
    ),
    "malformed-database": (
        {"DATABASE_URL": "postgresql://app:p@sekret:1@127.0.0.1/kennel"},
        "settings",
        "DATABASE_URL",
    ),
    "malformed-queue": ({"REDIS_URL": "redis://:p/sekret@127.0.0.1/0"}, "settings", "REDIS_URL"),
    "malformed-store": ({"BLOB_URL": "s3://key:sekret@host/x"}, "settings", "BLOB_URL"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", IN_DATABASE)
def test_admin_commands_report_a_faulty_server_in_one_sentence(
    name: str,
    fault: str,
    unreachable: str,
    foreign_server: tuple[int, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes, slug, words = FAULTS[fault]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_OWNER_URL", raising=False)
    tls, ca = foreign_server
    places = {"port": unreachable.rpartition(":")[2], "tls": tls, "ca": ca, "folder": tmp_path}
    for variable, value in (SETTINGS | changes).items():
        monkeypatch.setenv(variable, value.format(**places))
    known = {"file/nosuch": str(tmp_path), "nosuch": "organizer"}
    arguments = [known.get(word, word) for word in list_arguments(COMMANDS[name])]
    command_line = ["kennel", *name.split()[1:], *arguments, *MORE_ARGUMENTS.get(name, []), "--json"]
    monkeypatch.setattr(sys, "argv", command_line)
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capsys.readouterr()
    document: dict[str, Any] = json.loads(out)
    assert list(document) == ["problem"], out + err
    assert document["problem"]["type"].endswith(f":{slug}")
    assert words in document["problem"]["title"]
    assert "sekret" not in out + err
    assert "\n" not in document["problem"]["title"]
    assert end.value.code == ExitCode.FAULTY


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_wrong_arguments_are_a_problem_on_standard_output(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = list_arguments(COMMANDS[name])
    wrong = arguments[:-1] if arguments else ["--nosuch", *["nosuch"] * 3]
    monkeypatch.setattr(sys, "argv", ["kennel", *name.split()[1:], "--json", *wrong])
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capsys.readouterr()
    document: dict[str, Any] = json.loads(out)
    assert document["problem"]["type"] == "urn:kennel:problem:wrong-arguments", out
    assert document["problem"]["title"]
    assert (end.value.code, err) == (ExitCode.USAGE, "")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_an_error_is_a_problem_on_standard_output(
    name: str, unreachable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()  # not even root can create anything below it
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
        ["kennel", *name.split()[1:], *list_arguments(COMMANDS[name]), *MORE_ARGUMENTS.get(name, []), "--json"],
    )
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capsys.readouterr()
    document: dict[str, Any] = json.loads(out)
    assert list(document) == ["problem"], out + err
    assert document["problem"]["type"].startswith("urn:kennel:problem:")
    assert document["problem"]["title"]
    assert ExitCode(int(end.value.code or 0)) not in {ExitCode.DONE, ExitCode.INTERRUPTED}
