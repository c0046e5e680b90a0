"""The check of a whole zip, as the service makes it: every image, and every fault reported."""

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
    """What was checked of a zip in which no fault was found."""

    spec: ImageSpec
    pixels_decoded: bool
    """Whether Pillow was there to decode the pixels, as the service does; without it a PNG whose compressed rows have
    the right length and wrong contents passes here."""
    pixel_hashes: tuple[PixelHash, ...] = field(default=(), repr=False)
    """Of the images in canonical order; none where no pixels were decoded."""
    ignored: str | None = None
    """A sentence about the files that are ignored."""

    def __str__(self) -> str:
        """For example: "10,000 images of 64x64: names, sizes, headers, checksums, lengths and pixels are fine"."""
        images = f"{self.spec.count:,} images of {self.spec.size}x{self.spec.size}"
        if self.pixels_decoded:
            return f"{images}: names, sizes, headers, checksums, lengths and pixels are fine"
        return (
            f"{images}: names, sizes, headers, checksums and lengths are fine; pixels were not decoded, because Pillow "
            "is not installed"
        )


def check_zip(file: BinaryIO, spec: ImageSpec, progress: MemberProgress | None = None) -> ZipCheck:
    """Check every image of a zip, with their pixels where Pillow is installed; ``progress(done, n)`` now and then.

    Raises ``Invalid`` as the service rejects it: for its directory (:func:`list_images`), or ``bad-images`` with the
    first ten faults by name.
    """
    listing = list_images(file, spec)
    check, pixels_decoded = _image_check(spec.size)
    results = dict(sound_images(listing.labels, map_members(file, listing.members, check, progress=progress)))
    hashes = tuple(each for _, each in sorted(results.items()) if each is not None)
    return ZipCheck(spec, pixels_decoded, hashes, listing.ignored)


def has_pillow() -> bool:
    """Whether pixels can be decoded here."""
    return find_spec("PIL") is not None


def _image_check(size: int) -> tuple[Callable[[int, bytes], PixelHash | None], bool]:
    """The check of one PNG, and whether it decodes pixels."""
    if not has_pillow():

        def check_without_pixels(_: int, png: bytes) -> None:
            bare_png(png, size)

        return check_without_pixels, False
    from kennel_client.archive.png_pixels import load_png, pixel_hash_of  # noqa: PLC0415 - Pillow is not a requirement

    return lambda _, png: pixel_hash_of(load_png(png, size)), True
