"""Deterministic zips: the same files give the same bytes, so the same hash."""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from kennel_client.archive.listing import ignored_sentence, is_junk
from kennel_client.errors import Invalid

SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")
"""Suffixes of images in a folder or reference set."""


def zip_folder(folder: Path, destination: BinaryIO) -> str | None:
    """Zip the PNG, JPEG and WebP images in ``folder`` and its subfolders; return the sentence about other files.

    Names are relative to ``folder`` and sorted by their bytes, times are fixed, contents are stored uncompressed: the
    same images always give the same bytes. Omits junk and other files; follows links to files, not to folders.
    ``destination`` is seekable. Raises ``Invalid``: ``no-folder``, ``no-images`` or ``wrong-names``.
    """
    if not folder.is_dir():
        raise Invalid("no-folder", f"There is no folder {folder}.")
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    names = sorted(name for name in paths if name.lower().endswith(SUFFIXES) and not is_junk(name))
    if not names:
        raise Invalid("no-images", f"The folder {folder} has no PNG, JPEG or WebP images.")
    for name in names:
        if not name.isprintable():
            raise Invalid("wrong-names", f"The name {name!a} has unreadable characters; rename the file.")
    write_members(destination, ((name, paths[name].read_bytes()) for name in names))
    return ignored_sentence(sorted(paths.keys() - set(names)))


def write_members(destination: BinaryIO, contents: Iterable[tuple[str, bytes]]) -> None:
    """Write a zip of (name, content) pairs in this order, uncompressed and with one fixed time."""
    with zipfile.ZipFile(destination, "w", zipfile.ZIP_STORED) as archive:
        for name, content in contents:
            member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = 3  # Unix, on every system
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)
