"""A client of Kennel for programs, notebooks and the command line, and the reader of zips that the service checks with.

errors: errors meant for people
archive: zips and PNGs, read and checked by the standard library alone
client, async_client: what programs call
receipts: whether a service has signed what a receipt says
results: entries and boards, which notebooks show as tables; competitions
answers: the types of all other answers
operations, submit, resumable, resumable_state, data_files: what participants do
admin, references: what organizers and admins do
methods: methods of both clients from one definition
steps, retries, waiting, downloads: operations as generators of steps; when to try again; waiting; files that arrive
api, async_api: requests
progress: progress bars, or lines where there is no terminal
credentials: where the service is, and the token
cli: the ``kennel`` command
starter_kit: what ``kennel start`` writes for a participant
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kennel_client.archive import ImageSpec, ZipCheck, check_zip
    from kennel_client.async_client import AsyncClient
    from kennel_client.client import Client
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

_MODULE_OF = {
    "AsyncClient": "async_client",
    "Client": "client",
    "show_progress": "progress",
    **dict.fromkeys(("Board", "Competition", "Entry", "Measurement", "Place"), "results"),
    **dict.fromkeys(("ImageSpec", "ZipCheck", "check_zip"), "archive"),
    **dict.fromkeys(("Invalid", "KennelError", "Refused", "Unreachable", "Unreadable"), "errors"),
}


def __getattr__(name: str) -> Any:
    """The public names, imported when they are asked for: processes that only read zips load no HTTP."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """What completion offers."""
    return __all__
