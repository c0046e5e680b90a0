"""Directories of zips, checked in a limited process. The calling process finds and reads the bytes, the limited one
interprets them."""

from collections.abc import Callable, Sequence
from typing import BinaryIO

from kennel_client.archive.central_directory import find_directory
from kennel_client.archive.directory_checks import (
    check_features_listed,
    check_files_listed,
    check_images_listed,
    declared_by,
    parse_directory,
)
from kennel_client.archive.listing import ImageSpec
from scorer.archive.reference_set import MAX_DIRECTORY_BYTES, references_in, require_two
from scorer.confinement.limited_call import DIRECTORY, LARGE_DIRECTORY, Purpose, call_limited
from scorer.confinement.refusals import clean_text


def require_images(file: BinaryIO, spec: ImageSpec, *, limited: bool) -> str | None:
    """Check a participant's zip and return the sentence about ignored files. Raises the ``Invalid`` errors of
    ``list_images``, and ``unreadable`` for a directory that ends the limited process or takes too long. Without
    ``limited``, this process does the check."""
    return _call(check_images_listed, file, spec.directory_bytes, spec.count, spec.size, limited=limited)


def require_references(file: BinaryIO, *, limited: bool, two: bool = False) -> str | None:
    """:func:`require_images` for an organizer's zip, with the checks of ``list_references``, and of ``require_two`` if
    ``two``."""
    checked = check_references_listed, file, MAX_DIRECTORY_BYTES, int(two)
    return _call(*checked, limited=limited, purpose=LARGE_DIRECTORY)


def require_features(file: BinaryIO, *, limited: bool) -> None:
    """:func:`require_images` for an organizer's file of features; ``Invalid`` (``bad-features``) without its three
    arrays."""
    _call(check_features_listed, file, MAX_DIRECTORY_BYTES, limited=limited, purpose=LARGE_DIRECTORY)


def require_files(file: BinaryIO, max_files: int, max_directory_bytes: int, *, limited: bool) -> None:
    """:func:`require_images` for a zip of any files: at most ``max_files``, and a directory of at most
    ``max_directory_bytes``."""
    _call(check_files_listed, file, max_directory_bytes, max_files, max_directory_bytes, limited=limited)


def check_references_listed(parts: Sequence[bytes], declared: Sequence[int], two: int) -> str | None:
    """The part of ``require_references`` that runs in the limited process."""
    listing = references_in(parse_directory(parts, declared))
    if two:
        require_two(listing)
    return listing.ignored


def _call(
    check: Callable[..., str | None],
    file: BinaryIO,
    max_bytes: int,
    *arguments: int,
    limited: bool,
    purpose: Purpose = DIRECTORY,
) -> str | None:
    directory = find_directory(file)

    def read() -> list[bytes]:
        return [directory.read(directory.offset, directory.size) if directory.size <= max_bytes else b""]

    declared = declared_by(directory)
    if not limited:
        return check(read(), declared, *arguments)
    sentence = call_limited(check, read, declared, *arguments, purpose=purpose)
    return None if sentence is None else clean_text(sentence)
