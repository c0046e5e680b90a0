"""Checks of a zip's directory from its bytes, which the service runs in a limited process.

A separate module, because each upload starts such a process: imports are most of the cost, and avoiding numpy and
Pillow saves two thirds of it.
"""

from collections.abc import Sequence

from kennel_client.archive.central_directory import Directory, read_members, too_many_files
from kennel_client.archive.listing import ImageSpec, images_in
from kennel_client.errors import Invalid

FEATURE_MEMBERS = frozenset({"m.npy", "s.npy", "features.npy"})
"""The members of a numpy archive with features of reference images: their mean, covariance and features."""
_MAX_MEMBERS = 16


def declared_by(directory: Directory) -> list[int]:
    """What a zip's end declares about its directory, for :func:`parse_directory`."""
    return [directory.position, directory.count, directory.size, directory.offset, int(directory.zip64)]


def parse_directory(parts: Sequence[bytes], declared: Sequence[int]) -> Directory:
    """The directory with these bytes. One that is too long has none: its length is the first fault reported."""
    position, count, size, offset, zip64 = declared
    return Directory(lambda *_: parts[0], position, (0, 0), count, size, offset, zip64=bool(zip64))


def check_images_listed(  # noqa: PLR0917 - the limited process calls it by position
    parts: Sequence[bytes], declared: Sequence[int], count: int, size: int
) -> str | None:
    """Return the sentence about ignored files. ``parts`` are the directory's bytes, ``declared`` what the zip's end
    declares. Raises ``Invalid`` as ``list_images`` does.
    """
    return images_in(parse_directory(parts, declared), ImageSpec(count, size)).ignored


def check_features_listed(parts: Sequence[bytes], declared: Sequence[int]) -> None:
    """Raise ``Invalid`` (``bad-features``) unless the members are the three arrays of a features file."""
    names = {member.name for member in read_members(parse_directory(parts, declared), max_members=_MAX_MEMBERS)}
    if names != FEATURE_MEMBERS:
        raise Invalid(
            "bad-features", f"The file does not have exactly the arrays {', '.join(sorted(FEATURE_MEMBERS))}."
        )


def check_files_listed(  # noqa: PLR0917 - the limited process calls it by position
    parts: Sequence[bytes], declared: Sequence[int], max_files: int, max_directory_bytes: int
) -> None:
    """Raise ``Invalid`` for more than ``max_files`` files, or a directory of more than ``max_directory_bytes``."""
    directory = parse_directory(parts, declared)
    if directory.size > max_directory_bytes:
        raise too_many_files(max_files)
    read_members(directory, max_members=max_files)
