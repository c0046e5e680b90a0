"""Third-party programs in separate environments, created once for each set of versions."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path

from platformdirs import user_cache_path


def make_cached(packages: object, make: Callable[[Path], None]) -> Path:
    """The user's cache folder for these ``packages``. ``make`` fills it the first time."""
    wanted = repr((sys.version_info[:2], packages))
    folder = user_cache_path("kennel") / "clients" / hashlib.sha256(wanted.encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (folder / "installed").exists():
            make(folder)
            (folder / "installed").touch()
    return folder


def new_environment(folder: Path, *packages: str) -> None:
    """Create an environment and install packages into it."""
    _run(sys.executable, "-m", "venv", "--clear", str(folder))
    install(folder, *packages)


def install(folder: Path, *arguments: str) -> None:
    """``pip install`` into an environment."""
    _run(str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments)


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, text=True, timeout=280, check=True)
