"""The training images on a participant's machine, for comparing an entry with them; decoded by Pillow."""

import io
from typing import BinaryIO

from PIL import Image, ImageOps

from kennel_client.archive.central_directory import find_directory, members_of
from kennel_client.archive.faults import MemberError, sound_images
from kennel_client.archive.listing import canonical_members
from kennel_client.archive.objections import PixelHash
from kennel_client.archive.png_pixels import pixel_hash_of
from kennel_client.archive.zip_reader import MemberProgress, map_members
from kennel_client.archive.zip_writing import SUFFIXES
from kennel_client.errors import Invalid

FORMATS = ("JPEG", "PNG", "WEBP")


def training_hashes(file: BinaryIO, size: int, progress: MemberProgress | None = None) -> list[PixelHash]:
    """The hashes of the PNG, JPEG and WebP images of a zip at ``size`` x ``size``; ``progress(done, n)`` now and then.

    Images of another size are resized as a whole by Pillow's bicubic filter to 8 bits, as a participant is likely to
    have done it; the service compares with what it resizes in float. Raises ``Invalid``: as ``find_directory`` and
    ``members_of`` do, ``no-images`` or ``bad-images``.
    """
    directory = find_directory(file)
    listed, _ = canonical_members(members_of(directory, max_members=directory.count))
    members = [member for member in listed if member.name.lower().endswith(SUFFIXES)]
    if not members:
        raise Invalid("no-images", "There is no PNG, JPEG or WebP.")

    def hash_image(_: int, content: bytes) -> PixelHash:
        return pixel_hash_of(_decoded(content, size))

    hashed = map_members(file, members, hash_image, progress=progress)
    return [each for _, each in sound_images([member.label for member in members], hashed)]


def _decoded(content: bytes, size: int) -> Image.Image:
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            rgb = ImageOps.exif_transpose(image).convert("RGB")
    except Exception as error:  # noqa: BLE001 - Pillow's plugins raise nearly anything on a damaged file
        raise MemberError(f"can't be decoded ({type(error).__name__})") from None
    return rgb if rgb.size == (size, size) else rgb.resize((size, size), Image.Resampling.BICUBIC)
