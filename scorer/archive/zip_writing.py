"""Zips of images written by Kennel: the same images give the same bytes, so the same hash."""

import io
from collections.abc import Sequence
from typing import BinaryIO

from PIL import Image

from kennel_client.archive.zip_writing import write_members
from scorer.archive.pixel_hashes import Images


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
    write_members(destination, ((name, _png(image)) for name, image in zip(names, images, strict=True)))


def _png(image: Images) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()
