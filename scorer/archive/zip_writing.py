"""Deterministic zips: the same images give the same bytes, so the same hash."""

import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from PIL import Image

from scorer.archive.pixel_hashes import Images
from scorer.archive.reference_set import SUFFIXES
from scorer.errors import Invalid, Unavailable


def write_images(images: Images, destination: BinaryIO, names: Sequence[str] | None = None) -> None:
    """Write (n, h, w, 3) uint8 images as a zip of RGB PNGs, members in the order of the images.

    Without ``names`` they are ``00000.png`` and so on, so that the canonical order is the images' own.
    ``destination`` is seekable. The same images, names and Pillow give the same bytes.
    Raises ``ValueError`` unless there are as many different names as images.
    """
    digits = max(5, len(str(len(images) - 1)))
    names = [f"{index:0{digits}}.png" for index in range(len(images))] if names is None else names
    if len(names) != len(images) or len(set(names)) != len(names):
        raise ValueError(f"{len(images)} images need as many different names, not {len(set(names))}")
    _write(destination, ((name, _png(image)) for name, image in zip(names, images, strict=True)))


def zip_folder(folder: Path, destination: BinaryIO) -> int:
    """Zip the PNG, JPEG and WebP images in ``folder`` and the folders within; return how many there are.

    Names are relative to ``folder`` and sorted by their bytes, times fixed, contents stored as they are:
    the same images give the same bytes wherever the folder lies. Other files are left out; links to
    files are followed, links to folders are not. ``destination`` is seekable.
    Raises ``Unavailable("no-folder")`` or ``Invalid("no-images")``, ``Invalid("wrong-names")``.
    """
    if not folder.is_dir():
        raise Unavailable("no-folder", f"There is no folder {folder}.")
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if _is_image(path)}
    if not paths:
        raise Invalid("no-images", f"The folder {folder} has no PNG, JPEG or WebP images.")
    for name in paths:
        if not name.isprintable():
            raise Invalid("wrong-names", f"The name {name!a} has unreadable characters; rename the file.")
    names = sorted(paths, key=str.encode)
    _write(destination, ((name, paths[name].read_bytes()) for name in names))
    return len(names)


def _is_image(path: Path) -> bool:
    """Hidden files stay out: macOS leaves a ``._dog.png`` beside every ``dog.png`` on foreign disks."""
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()


def _write(destination: BinaryIO, contents: Iterable[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(destination, "w", zipfile.ZIP_STORED) as archive:
        for name, content in contents:
            member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = 3  # Unix, on every system
            member.external_attr = 0o100644 << 16
            archive.writestr(member, content)


def _png(image: Images) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()
