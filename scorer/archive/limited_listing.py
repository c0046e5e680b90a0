"""Directories of zips, checked in a limited process: this one finds and reads the bytes, another interprets them."""

from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from kennel_client.archive.central_directory import Directory, find_directory, members_of, too_many_files
from kennel_client.archive.listing import ImageSpec, images_in
from scorer.archive.reference_set import MAX_DIRECTORY_BYTES, references_in
from scorer.confinement.limited_call import call_limited
from scorer.errors import Invalid

FEATURE_MEMBERS = frozenset({"m.npy", "s.npy", "features.npy"})
"""Of a numpy archive with the features of reference images, their mean and covariance."""
_MAX_MEMBERS = 16


def require_images(file: BinaryIO, spec: ImageSpec, *, limited: bool) -> None:
    """Raise ``Invalid`` as ``list_images`` does, and with the slug ``unreadable`` for a directory that ends the limited
    process, or takes too long. Without ``limited`` this process does it."""
    _call(check_images_listed, file, spec.directory_bytes, spec.count, spec.size, limited=limited)


def require_references(file: BinaryIO, *, limited: bool) -> None:
    """Likewise for an organizer's zip, as ``list_references`` does."""
    _call(check_references_listed, file, MAX_DIRECTORY_BYTES, limited=limited)


def require_features(file: BinaryIO, *, limited: bool) -> None:
    """Likewise for an organizer's file of features: ``Invalid`` (``bad-features``) without its three arrays."""
    _call(check_features_listed, file, MAX_DIRECTORY_BYTES, limited=limited)


def require_files(file: BinaryIO, max_files: int, max_directory_bytes: int, *, limited: bool) -> None:
    """Likewise for a zip of whatever files, ``max_files`` at most, whose directory has not more than so many bytes."""
    _call(check_files_listed, file, max_directory_bytes, max_files, max_directory_bytes, limited=limited)


def check_images_listed(parts: Sequence[bytes], declared: Sequence[int], count: int, size: int) -> None:
    """What the process does for ``require_images``; ``parts``: the directory, ``declared``: what the zip says of it."""
    images_in(_directory(parts, declared), ImageSpec(count, size))


def check_references_listed(parts: Sequence[bytes], declared: Sequence[int]) -> None:
    """What the process does for ``require_references``."""
    references_in(_directory(parts, declared))


def check_features_listed(parts: Sequence[bytes], declared: Sequence[int]) -> None:
    """What the process does for ``require_features``."""
    names = {member.name for member in members_of(_directory(parts, declared), max_members=_MAX_MEMBERS)}
    if names != FEATURE_MEMBERS:
        raise Invalid("bad-features", f"The file has not exactly the arrays {', '.join(sorted(FEATURE_MEMBERS))}.")


def check_files_listed(
    parts: Sequence[bytes], declared: Sequence[int], max_files: int, max_directory_bytes: int
) -> None:
    """What the process does for ``require_files``."""
    directory = _directory(parts, declared)
    if directory.size > max_directory_bytes:
        raise too_many_files(max_files)
    members_of(directory, max_members=max_files)


def _call(check: Callable[..., None], file: BinaryIO, max_bytes: int, *arguments: int, limited: bool) -> None:
    directory = find_directory(file)
    data = directory.read(directory.offset, directory.size) if directory.size <= max_bytes else b""
    declared = [directory.position, directory.count, directory.size, directory.offset, int(directory.zip64)]
    if limited:
        call_limited(check, [data], declared, *arguments)
    else:
        check([data], declared, *arguments)


def _directory(parts: Sequence[bytes], declared: Sequence[Any]) -> Directory:
    """The directory that ``_call`` has read. Where it is too long to be read, that is what is said of it first."""
    position, count, size, offset, zip64 = declared
    return Directory(lambda *_: parts[0], position, (0, 0), count, size, offset, zip64=bool(zip64))
