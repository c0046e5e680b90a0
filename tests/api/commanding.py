"""The ``kennel`` command of one person against a running service."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import pytest

from deploy import cli
from tests.api.conftest import Service
from tests.serving import serving


class Done(NamedTuple):
    """What a command has left."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output, which is one JSON document."""
        return json.loads(self.out)


@dataclass
class Terminal:
    """A machine of one's own: environment, state and configuration."""

    service: Service
    url: str
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def environment(self, who: str | None, url: str | None = None) -> dict[str, str]:
        """What is set there; without ``who``, nobody is signed in by it."""
        folders = {f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("CONFIG", "STATE")}
        token = {"KENNEL_TOKEN": self.service.tokens.get(who, who)} if who else {}
        return {**folders, **token, "KENNEL_URL": self.url if url is None else url}

    def run(self, *argv: object, who: str | None = "ada", stdin: str = "", url: str | None = None) -> Done:
        """A command from its beginning to its end."""
        with self.monkeypatch.context() as patch:
            patch.delenv("KENNEL_TOKEN", raising=False)
            for name, value in self.environment(who, url).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["kennel", *map(str, argv)])
            patch.setattr(sys, "stdin", StringIO(stdin))
            self.capsys.readouterr()
            with pytest.raises(SystemExit) as end:
                cli.main()
        return Done(int(end.value.code or 0), *self.capsys.readouterr())

    def start(self, *argv: object, who: str = "ada", url: str | None = None) -> "subprocess.Popen[str]":
        """A command in a process of its own."""
        command = [sys.executable, "-c", "from deploy.cli import main; main()", *map(str, argv)]
        return subprocess.Popen(
            command,
            env={**os.environ, **self.environment(who, url)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def terminal(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Terminal]:
    """A terminal of somebody who takes part."""
    with serving(service.app) as url:
        yield Terminal(service, url, tmp_path / "home", monkeypatch, capsys)


@contextmanager
def working(service: Service) -> Iterator[None]:
    """A worker that does whatever comes."""
    end = Event()

    def work() -> None:
        while not end.wait(0.05):
            service.work()

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join(60)
