"""The full check of a zip, as in the service: checks every image and reports every fault."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import BinaryIO

from kennel_client.archive.faults import sound_images
from kennel_client.archive.listing import ImageSpec, list_images
from kennel_client.archive.objections import PixelHash
from kennel_client.archive.png_check import bare_png
from kennel_client.archive.zip_reader import MemberProgress, map_members


@dataclass(frozen=True)
class ZipCheck:
    """The result of a check without faults."""

    spec: ImageSpec
    pixels_decoded: bool
    """Whether Pillow decoded the pixels, as the service does. Without Pillow, a PNG passes if its compressed rows have
    the right length but wrong contents.
    """
    pixel_hashes: tuple[PixelHash, ...] = field(default=(), repr=False)
    """Hashes of the images in canonical order; empty if no pixels were decoded."""
    ignored: str | None = None
    """A sentence about ignored files."""

    def __str__(self) -> str:
        """For example: "10,000 images of 64x64: names, sizes, headers, checksums, lengths and pixels are valid"."""
        images = f"{self.spec.count:,} images of {self.spec.size}x{self.spec.size}"
        if self.pixels_decoded:
            return f"{images}: names, sizes, headers, checksums, lengths and pixels are valid"
        return (
            f"{images}: names, sizes, headers, checksums and lengths are valid; pixels were not decoded, because "
            "Pillow is not installed"
        )


def check_zip(file: BinaryIO, spec: ImageSpec, progress: MemberProgress | None = None) -> ZipCheck:
    """Check every image of a zip, with pixels if Pillow is installed; calls ``progress(done, n)`` now and then.

    Raises ``Invalid`` as the service rejects it: for the directory (:func:`list_images`), or ``bad-images`` with the
    first ten faults by name.
    """
    listing = list_images(file, spec)
    check, pixels_decoded = _image_check(spec.size)
    results = dict(sound_images(listing.labels, map_members(file, listing.members, check, progress=progress)))
    hashes = tuple(pixel_hash for _, pixel_hash in sorted(results.items()) if pixel_hash is not None)
    return ZipCheck(spec, pixels_decoded, hashes, listing.ignored)


def has_pillow() -> bool:
    return find_spec("PIL") is not None


def _image_check(size: int) -> tuple[Callable[[int, bytes], PixelHash | None], bool]:
    """The check of one PNG, and whether it decodes pixels."""
    if not has_pillow():

        def check_without_pixels(_: int, png: bytes) -> None:
            bare_png(png, size)

        return check_without_pixels, False
    from kennel_client.archive.png_pixels import compute_pixel_hash, load_png  # noqa: PLC0415 - Pillow is not a requirement

    return lambda _, png: compute_pixel_hash(load_png(png, size)), True
