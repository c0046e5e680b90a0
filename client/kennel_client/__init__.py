"""A client of Kennel for programs, notebooks and the command line, and the zip reader that the service uses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kennel_client.archive.listing import ImageSpec
    from kennel_client.archive.zip_check import ZipCheck, check_zip
    from kennel_client.client import AsyncClient, Client
    from kennel_client.errors import Invalid, KennelError, Refused, Unreachable, Unreadable
    from kennel_client.progress import show_progress
    from kennel_client.results import Board, Competition, Entry, Measurement, Place

__all__ = [
    "AsyncClient",
    "Board",
    "Client",
    "Competition",
    "Entry",
    "ImageSpec",
    "Invalid",
    "KennelError",
    "Measurement",
    "Place",
    "Refused",
    "Unreachable",
    "Unreadable",
    "ZipCheck",
    "check_zip",
    "show_progress",
]

_MODULES = {
    **dict.fromkeys(("AsyncClient", "Client"), "client"),
    "show_progress": "progress",
    **dict.fromkeys(("Board", "Competition", "Entry", "Measurement", "Place"), "results"),
    "ImageSpec": "archive.listing",
    **dict.fromkeys(("ZipCheck", "check_zip"), "archive.zip_check"),
    **dict.fromkeys(("Invalid", "KennelError", "Refused", "Unreachable", "Unreadable"), "errors"),
}


def __getattr__(name: str) -> Any:
    """Import public names on first use: processes that only read zips load no HTTP library."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
