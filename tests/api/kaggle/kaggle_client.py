"""The official ``kaggle`` client, unmodified, in its own environment."""

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

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
    wanted = repr((sys.version_info[:2], CLIENT, NEWER))
    folder = user_cache_path("kennel") / "clients" / hashlib.sha256(wanted.encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (folder / "installed").exists():
            _run(sys.executable, "-m", "venv", "--clear", str(folder))
            pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check")
            _run(*pip, *CLIENT)
            _run(*pip, "--no-deps", "--target", str(folder / "newer"), *NEWER)
            (folder / "installed").touch()
    return KaggleClient(folder)


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)


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
