"""Zips of images: read and checked by the standard library alone, on a participant's machine as in the service.

Participants' files are untrusted: every read and loop is bounded by the image specification before it is made.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kennel_client.archive.listing import ImageSpec, Listing, list_images
    from kennel_client.archive.objections import Objection, objections_to
    from kennel_client.archive.zip_check import ZipCheck, check_zip, has_pillow
    from kennel_client.archive.zip_writing import zip_folder

__all__ = [
    "ImageSpec",
    "Listing",
    "Objection",
    "ZipCheck",
    "check_zip",
    "has_pillow",
    "list_images",
    "objections_to",
    "zip_folder",
]

_MODULE_OF = {
    **dict.fromkeys(("ImageSpec", "Listing", "list_images"), "listing"),
    **dict.fromkeys(("Objection", "objections_to"), "objections"),
    **dict.fromkeys(("ZipCheck", "check_zip", "has_pillow"), "zip_check"),
    "zip_folder": "zip_writing",
}


def __getattr__(name: str) -> Any:
    """The package's names, imported when they are asked for: a process that reads one directory loads no more."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
