"""Checks of a zip's directory by its bytes, which a limited process of the service makes.

A module of its own, because each upload starts such a process: what it imports is most of what the check costs, and
without numpy and Pillow that is a third.
"""

from collections.abc import Sequence

from kennel_client.archive.central_directory import Directory, members_of, too_many_files
from kennel_client.archive.listing import ImageSpec, images_in
from kennel_client.errors import Invalid

FEATURE_MEMBERS = frozenset({"m.npy", "s.npy", "features.npy"})
"""Of a numpy archive with the features of reference images, their mean and covariance."""
_MAX_MEMBERS = 16


def declared_by(directory: Directory) -> list[int]:
    """What a zip says of its directory, for :func:`directory_of`."""
    return [directory.position, directory.count, directory.size, directory.offset, int(directory.zip64)]


def directory_of(parts: Sequence[bytes], declared: Sequence[int]) -> Directory:
    """The directory of these bytes; none where it is too long to be read, which is what is said of it first."""
    position, count, size, offset, zip64 = declared
    return Directory(lambda *_: parts[0], position, (0, 0), count, size, offset, zip64=bool(zip64))


def check_images_listed(  # noqa: PLR0917 - the limited process calls it by position
    parts: Sequence[bytes], declared: Sequence[int], count: int, size: int
) -> str | None:
    """The sentence about ignored files. Raises ``Invalid`` as ``list_images`` does; ``parts``: the directory,
    ``declared``: what the zip says of it."""
    return images_in(directory_of(parts, declared), ImageSpec(count, size)).ignored


def check_features_listed(parts: Sequence[bytes], declared: Sequence[int]) -> None:
    """Raise ``Invalid`` (``bad-features``) unless the members are the three arrays of a file of features."""
    names = {member.name for member in members_of(directory_of(parts, declared), max_members=_MAX_MEMBERS)}
    if names != FEATURE_MEMBERS:
        raise Invalid("bad-features", f"The file has not exactly the arrays {', '.join(sorted(FEATURE_MEMBERS))}.")


def check_files_listed(  # noqa: PLR0917 - the limited process calls it by position
    parts: Sequence[bytes], declared: Sequence[int], max_files: int, max_directory_bytes: int
) -> None:
    """Raise ``Invalid`` for more than so many files, or for a directory of more than so many bytes."""
    directory = directory_of(parts, declared)
    if directory.size > max_directory_bytes:
        raise too_many_files(max_files)
    members_of(directory, max_members=max_files)
