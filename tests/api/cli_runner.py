"""Runs a person's ``kennel`` command against a running service."""

import json
import os
import pty
import select
import shlex
import subprocess
import sys
import termios
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import IO, Any, NamedTuple

import pytest
from typer.testing import CliRunner

from deploy.cli import main
from kennel_client.api import ApiClient
from kennel_client.cli.main import make_admin
from tests.api.conftest import API, Service
from tests.http_server import serve


class CommandResult(NamedTuple):
    """A finished command: exit status and output."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


@dataclass
class CliTerminal:
    """A person's environment, state and configuration for commands."""

    service: Service
    url: str
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def environment(self, who: str | None, url: str | None = None) -> dict[str, str]:
        """Return the environment variables. Without ``who``, there is no token."""
        folders = {f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("CONFIG", "STATE")}
        token = {"KENNEL_TOKEN": self.service.tokens.get(who, who)} if who else {}
        return {**folders, **token, "KENNEL_URL": self.url if url is None else url}

    def run(self, *argv: object, who: str | None = "ada", stdin: str = "", url: str | None = None) -> CommandResult:
        """Run a command in this process and return its result."""
        with self.monkeypatch.context() as patch:
            patch.delenv("KENNEL_TOKEN", raising=False)
            for name, value in self.environment(who, url).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["kennel", *map(str, argv)])
            patch.setattr(sys, "stdin", StringIO(stdin))
            self.capsys.readouterr()
            with pytest.raises(SystemExit) as end:
                main.main()
        return CommandResult(int(end.value.code or 0), *self.capsys.readouterr())

    @contextmanager
    def started(
        self, *argv: object, who: str = "ada", url: str | None = None
    ) -> "Iterator[tuple[subprocess.Popen[str], IO[str]]]":
        """Start a command in its own process and yield it with its standard error. Kill it at the end."""
        # A test run in the background inherits an ignored Ctrl-C, unlike a command in a shell.
        listens = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        code = f"{listens}; from deploy.cli.main import main; main()"
        command = [sys.executable, "-c", code, *map(str, argv)]
        environment = {**os.environ, **self.environment(who, url)}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stderr is not None
                yield process, process.stderr
            finally:
                process.kill()

    def run_interactively(self, command: str, answers: dict[str, str], *, hidden: Collection[str] = ()) -> str:
        """Run a command at a pseudo-terminal and return its output.

        Type the answer to each question in ``answers``. Questions in ``hidden`` must not echo it.
        """
        controller, terminal_end = pty.openpty()
        its: int | None = terminal_end
        tty = os.ttyname(terminal_end)
        answers = dict(answers)
        seen = ""
        kennel = f"{shlex.quote(sys.executable)} -c 'from deploy.cli.main import main; main()' {command}"
        with subprocess.Popen(
            # The shell opens the terminal itself, so the command asks for passwords there.
            ["/bin/sh", "-c", f"exec <{tty} >{tty} 2>&1; {kennel}"],
            env={**os.environ, **self.environment(None), "TERM": "xterm"},
            start_new_session=True,
        ) as process:
            try:
                while data := _read(controller):
                    if its is not None:
                        os.close(its)  # the command has opened the terminal
                        its = None
                    seen += data.decode(errors="replace")
                    for question in [text for text in answers if text in seen]:
                        while question in hidden and termios.tcgetattr(controller)[3] & termios.ECHO:
                            sleep(0.01)  # the command discards input before it reads
                        os.write(controller, answers.pop(question).encode() + b"\n")
            finally:
                process.kill()
        os.close(controller)
        assert not answers, seen
        return seen


def _read(terminal: int) -> bytes:
    """Return the waiting output of a terminal, or no bytes at its end."""
    ready, _, _ = select.select([terminal], [], [], 30)
    assert ready, "the command prints nothing"
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@pytest.fixture
def terminal(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[CliTerminal]:
    """A participant's terminal."""
    with serve(service.app) as url:
        yield CliTerminal(service, url, tmp_path / "home", monkeypatch, capsys)


@contextmanager
def working_worker(service: Service) -> Iterator[None]:
    """A worker in a thread that runs all jobs as they arrive."""
    end = Event()

    def run_jobs() -> None:
        while not end.wait(0.05):
            service.run_jobs()

    thread = Thread(target=run_jobs)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join(60)


@pytest.fixture
def command(service: Service, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs ``kennel admin`` against the service as the admin."""
    monkeypatch.setattr(ApiClient, "send_once", _through(service))
    monkeypatch.setenv("KENNEL_TOKEN", service.tokens["admin"])

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(make_admin({}), list(arguments))
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    return run


def _through(service: Service) -> Any:
    def send(self: ApiClient, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": self._http.headers["Authorization"], **options.pop("headers", {})}
        answer = service.http.request(method, f"{API}{path}", headers=headers, **options)
        assert answer.status_code < 300, answer.text
        return answer

    return send
