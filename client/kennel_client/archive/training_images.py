"""The training images on a participant's machine, to compare an entry with them; decoded with Pillow."""

import io
from typing import BinaryIO

from PIL import Image, ImageOps

from kennel_client.archive.central_directory import find_directory, read_members
from kennel_client.archive.faults import MemberError, sound_images
from kennel_client.archive.listing import canonical_members
from kennel_client.archive.objections import PixelHash
from kennel_client.archive.png_pixels import compute_pixel_hash
from kennel_client.archive.zip_reader import MemberProgress, map_members
from kennel_client.archive.zip_writing import SUFFIXES
from kennel_client.errors import Invalid

FORMATS = ("JPEG", "PNG", "WEBP")


def training_hashes(file: BinaryIO, size: int, progress: MemberProgress | None = None) -> list[PixelHash]:
    """Hash the PNG, JPEG and WebP images of a zip at ``size`` x ``size``; calls ``progress(done, n)`` now and then.

    Resizes images of another size to 8 bits with Pillow's bicubic filter, without cropping, as participants probably
    do; the service compares with images that it resizes in float. Raises ``Invalid`` as ``find_directory`` and
    ``read_members`` do, and ``no-images`` or ``bad-images``.
    """
    directory = find_directory(file)
    listed, _ = canonical_members(read_members(directory, max_members=directory.count))
    members = [member for member in listed if member.name.lower().endswith(SUFFIXES)]
    if not members:
        raise Invalid("no-images", "There is no PNG, JPEG or WebP image in the zip.")

    def hash_image(_: int, content: bytes) -> PixelHash:
        return compute_pixel_hash(_decoded(content, size))

    hashed = map_members(file, members, hash_image, progress=progress)
    return [pixel_hash for _, pixel_hash in sound_images([member.label for member in members], hashed)]


def _decoded(content: bytes, size: int) -> Image.Image:
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            rgb = ImageOps.exif_transpose(image).convert("RGB")
    except Exception as error:  # noqa: BLE001 - Pillow's plugins raise nearly anything on a damaged file
        raise MemberError(f"can't be decoded ({type(error).__name__})") from None
    return rgb if rgb.size == (size, size) else rgb.resize((size, size), Image.Resampling.BICUBIC)
