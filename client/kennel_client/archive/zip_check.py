"""The check of a whole zip, as the service makes it: every image, and every fault reported."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import BinaryIO

from kennel_client.archive.faults import MemberError, bad_images
from kennel_client.archive.listing import ImageSpec, list_images
from kennel_client.archive.png_check import bare_png
from kennel_client.archive.zip_reader import MemberProgress, map_members


@dataclass(frozen=True)
class ZipCheck:
    """What was checked of a zip in which no fault was found."""

    spec: ImageSpec
    pixels_decoded: bool
    """Whether Pillow was there to decode the pixels, as the service does; without it a PNG whose compressed rows have
    the right length and wrong contents passes here."""

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
    check, pixels_decoded = _image_check()

    def check_image(_: int, png: bytes) -> None:
        check(png, spec.size)

    results = map_members(file, listing.members, check_image, progress)
    errors = {index: result for index, result in results if isinstance(result, MemberError)}
    if errors:
        raise bad_images(listing.names, errors)
    return ZipCheck(spec, pixels_decoded)


def _image_check() -> tuple[Callable[[bytes, int], object], bool]:
    """The check of one PNG, and whether it decodes pixels."""
    if find_spec("PIL") is None:
        return bare_png, False
    from kennel_client.archive.png_pixels import load_png  # noqa: PLC0415 - Pillow is not a requirement

    return load_png, True
