"""Deterministic zips: the same files give the same bytes, so the same hash."""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from kennel_client.errors import Invalid

SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")
"""Endings of the images that a folder or a reference set is searched for."""


def zip_folder(folder: Path, destination: BinaryIO) -> int:
    """Zip the PNG, JPEG and WebP images in ``folder`` and the folders within; return how many there are.

    Names are relative to ``folder`` and sorted by their bytes, times fixed, contents stored as they are:
    the same images give the same bytes wherever the folder lies. Other files are left out; links to
    files are followed, links to folders are not. ``destination`` is seekable.
    Raises ``Invalid``: ``no-folder``, ``no-images`` or ``wrong-names``.
    """
    if not folder.is_dir():
        raise Invalid("no-folder", f"There is no folder {folder}.")
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if _is_image(path)}
    if not paths:
        raise Invalid("no-images", f"The folder {folder} has no PNG, JPEG or WebP images.")
    for name in paths:
        if not name.isprintable():
            raise Invalid("wrong-names", f"The name {name!a} has unreadable characters; rename the file.")
    names = sorted(paths, key=str.encode)
    write_members(destination, ((name, paths[name].read_bytes()) for name in names))
    return len(names)


def write_members(destination: BinaryIO, contents: Iterable[tuple[str, bytes]]) -> None:
    """Write a zip of (name, content), stored as they are, in this order, with one fixed time."""
    with zipfile.ZipFile(destination, "w", zipfile.ZIP_STORED) as archive:
        for name, content in contents:
            member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = 3  # Unix, on every system
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)


def _is_image(path: Path) -> bool:
    """Hidden files stay out: macOS leaves a ``._dog.png`` beside every ``dog.png`` on foreign disks."""
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
