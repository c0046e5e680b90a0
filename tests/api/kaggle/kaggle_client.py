"""The official ``kaggle`` client, unmodified, in its own environment."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Service
from tests.tool_environments import install, made_once, new_environment

CLIENT = ("kaggle==2.2.4", "six==1.17.0")  # it imports six without asking for it
NEWER = ("kaggle==2.2.5", "kagglesdk==0.1.38")
"""This one can wait, and show one submission. It asks for a certifi that not every index has, so it borrows the rest
from the older one."""


@dataclass(frozen=True)
class KaggleClient:
    """Where the client is installed."""

    folder: Path

    @property
    def packages(self) -> Path:
        """The folder for ``PYTHONPATH`` of another interpreter of the same version."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def run(self, *arguments: str, home: Path, newer: bool = False, **environment: str) -> Any:
        """Run the client without this machine's own settings."""
        variables = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **environment}
        if newer:
            variables["PYTHONPATH"] = str(self.folder / "newer")
        command = [str(self.folder / "bin" / "kaggle"), *arguments]
        return subprocess.run(
            command, env=variables, cwd=home, capture_output=True, text=True, timeout=120, check=False
        )


def install_client() -> KaggleClient:
    """The client, installed once for each set of versions."""

    def make(folder: Path) -> None:
        new_environment(folder, *CLIENT)
        install(folder, "--no-deps", "--target", str(folder / "newer"), *NEWER)

    return KaggleClient(made_once((CLIENT, NEWER), make))


@pytest.fixture(scope="session")
def official() -> KaggleClient:
    """The client; its tests are skipped if PyPI cannot be reached, except where they must run."""
    try:
        return install_client()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        why = str(error.stderr or error).strip()
        if os.environ.get("CI") == "true":
            raise AssertionError(why) from None
        pytest.skip(f"needs PyPI, or an index of packages like it, to install {CLIENT[0]}: {why.splitlines()[-1]}")


CALLS = "competitions.CompetitionApiService"


def rpc(service: Service, method: str, who: str = "ada", **body: Any) -> Any:
    """A call of the wire."""
    return service.call(who, "POST", f"/{CALLS}/{method}", json=body)


def refusal_message(answer: Any, code: int = 400) -> str:
    """The message of a refusal, which has exactly the client's form."""
    assert answer.status_code == code, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"code", "message"}
    assert answer.json()["code"] == code
    return str(answer.json()["message"])
