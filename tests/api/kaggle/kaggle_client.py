"""The official ``kaggle`` client, unmodified, in its own environment."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Service
from tests.tool_environments import install, make_cached, new_environment

CLIENT = ("kaggle==2.2.4", "six==1.17.0")  # it imports six without declaring it
NEWER = ("kaggle==2.2.5", "kagglesdk==0.1.38")
"""This version can wait for scores and show one submission. It requires a certifi that some indexes lack, so it uses
the older version's dependencies."""


@dataclass(frozen=True)
class KaggleClient:
    """An installed client."""

    folder: Path

    @property
    def packages(self) -> Path:
        """The folder for ``PYTHONPATH`` of another interpreter with the same version."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def run(self, *arguments: str, home: Path, newer: bool = False, **environment: str) -> Any:
        """Run the client without the settings of this machine."""
        variables = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **environment}
        if newer:
            variables["PYTHONPATH"] = str(self.folder / "newer")
        command = [str(self.folder / "bin" / "kaggle"), *arguments]
        return subprocess.run(
            command, env=variables, cwd=home, capture_output=True, text=True, timeout=120, check=False
        )


def install_client() -> KaggleClient:
    """Install the client, once for each set of versions."""

    def make(folder: Path) -> None:
        new_environment(folder, *CLIENT)
        install(folder, "--no-deps", "--target", str(folder / "newer"), *NEWER)

    return KaggleClient(make_cached((CLIENT, NEWER), make))


@pytest.fixture(scope="session")
def official() -> KaggleClient:
    """The client. Without PyPI its tests are skipped, or fail if ``CI`` is ``true``."""
    try:
        return install_client()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        why = str(error.stderr or error).strip()
        if os.environ.get("CI") == "true":
            raise AssertionError(why) from None
        pytest.skip(f"needs PyPI, or an index of packages like it, to install {CLIENT[0]}: {why.splitlines()[-1]}")


CALLS = "competitions.CompetitionApiService"


def rpc(service: Service, method: str, who: str = "ada", **body: Any) -> Any:
    """Call a method of the client's protocol."""
    return service.call(who, "POST", f"/{CALLS}/{method}", json=body)


def refusal_message(answer: Any, code: int = 400) -> str:
    """Return the message of a refusal. Require exactly the client's format."""
    assert answer.status_code == code, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"code", "message"}
    assert answer.json()["code"] == code
    return str(answer.json()["message"])
