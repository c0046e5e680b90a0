"""An organizer's reference set: a zip of real images read into one array."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kennel_client.archive.central_directory import Directory, Member, find_directory, read_members
from kennel_client.archive.faults import count_phrase, faulty_members_error, printable_list, sound_images
from kennel_client.archive.listing import (
    Listing,
    canonical_members,
    first_faults,
    name_collisions,
    path_fault,
    refuse_unreadable,
)
from kennel_client.archive.zip_bombs import refuse_bombs, refuse_large_members
from kennel_client.archive.zip_reader import MemberProgress
from kennel_client.archive.zip_writing import SUFFIXES
from scorer.archive.decoder_pool import map_pixels
from scorer.archive.pixel_hashes import HASH_BYTES, PixelHashes, mirror_images, pixel_hash
from scorer.archive.reference_image import round_to_uint8
from scorer.errors import Invalid, TooLarge

NAMES_FILE = "names.json"
"""The file of a decoded set that is stored last: it shows that the others are complete."""
MAX_MEMBER_BYTES = 64 << 20
MAX_TOTAL_BYTES = 256 << 30
MAX_IMAGES = 200_000
MAX_MEMBERS = 3 * MAX_IMAGES
"""Images, a second entry for each in __MACOSX, and folders."""
MAX_DIRECTORY_BYTES = MAX_IMAGES * 512
MAX_ARRAY_BYTES = 8 << 30  # for all images as float32: 174,000 of 64 x 64

ReferencePixels = NDArray[np.uint8] | NDArray[np.float32]
HashedImage = tuple[ReferencePixels, PixelHashes]
Allocate = Callable[[tuple[int, ...], type[np.generic]], NDArray[Any]]
"""Makes an array of zeros: in memory, or mapped if memory would not be enough."""


@dataclass(frozen=True, eq=False, slots=True)
class ReferenceImages:
    """A reference set in canonical order (names sorted by their UTF-8 bytes).

    ``images`` is (n, size, size, 3) RGB: uint8 if all images already had the size, otherwise float32 in [0, 255].
    ``hashes`` and ``mirrored_hashes`` are (n, 16) uint8, of the pixels rounded to uint8 and of their mirror
    images. ``ignored`` is a sentence about other files.
    """

    images: ReferencePixels
    names: tuple[str, ...]
    hashes: PixelHashes
    mirrored_hashes: PixelHashes
    ignored: str | None = None


def list_references(file: BinaryIO) -> Listing:
    """List an organizer's zip from its directory: PNG, JPEG and WebP by file extension, in folders of any depth.

    Raises ``Invalid`` like ``list_images`` (``no-images`` for none), ``TooLarge`` (``too-many-images``).
    """
    return references_in(find_directory(file))


def references_in(directory: Directory) -> Listing:
    """List the images of a directory; see :func:`list_references`."""
    short = directory.size <= MAX_DIRECTORY_BYTES
    everything = read_members(directory, max_members=MAX_MEMBERS) if short else None
    members, ignored = canonical_members(everything or ())
    if everything is None or len(members) > MAX_IMAGES:
        listed = directory.count if everything is None else len(members)
        raise TooLarge("too-many-images", f"The zip lists {listed:,} files; the limit is {MAX_IMAGES:,}.")
    refuse_unreadable(members)
    faults = list(first_faults(members, (path_fault, _unknown_format, name_collisions())))
    if faults:
        message = f"The names of {count_phrase(faults, len(members))} can't be used."
        raise faulty_members_error("wrong-names", message, faults)
    if not members:
        raise Invalid("no-images", f"The zip has no images. {ignored}" if ignored else "The zip has no images.")
    refuse_bombs(everything, image_bytes=sum(member.size for member in members) // len(members))
    refuse_large_members(everything, member_bytes=MAX_MEMBER_BYTES, total_bytes=MAX_TOTAL_BYTES)
    return Listing(tuple(members), ignored)


def require_two(listing: Listing) -> None:
    """Raise ``Invalid`` (``too-few-images``) for a single image, which has no covariance."""
    if len(listing.members) < 2:
        name = printable_list(listing.labels)
        raise Invalid("too-few-images", f"There is only 1 image ({name}); at least 2 are needed to compute FID.")


def read_references(
    file: BinaryIO,
    size: int,
    progress: MemberProgress | None = None,
    *,
    allocate: Allocate = np.zeros,
    processes: int = 0,
) -> ReferenceImages:
    """Decode an organizer's zip and resize its images (see ``scorer.archive.reference_image``).

    Images of ``size`` x ``size`` pass unchanged; the others are resized in float. ``progress(done, n)`` is called now
    and then. Takes 12 * size**2 bytes per image from ``allocate`` if any is resized, or a quarter of that if none is.
    For a moment, at the first resized image, it takes both. Images are decoded by ``processes`` limited processes
    (:mod:`scorer.archive.decoder_pool`); with 0, in threads of this process.

    Raises the errors of ``list_references``; ``Invalid("bad-images")`` naming the first ten unusable images, with
    ``extra["fault_count"]``; ``TooLarge("too-many-images")`` if the array would exceed ``MAX_ARRAY_BYTES``.
    """
    names = (listing := list_references(file)).names
    _refuse_array(len(names), size)
    images: ReferencePixels = allocate((len(names), size, size, 3), np.uint8)
    hashes = np.zeros((2, len(names), HASH_BYTES), np.uint8)
    decoded = map_pixels(
        file, listing.members, _hashed, size=size, processes=processes, of_references=True, progress=progress
    )
    for index, (image, both_hashes) in sound_images(listing.labels, decoded):
        hashes[:, index] = both_hashes
        if image.dtype != np.uint8:
            images = _widened(images, allocate)
        images[index] = image
    return ReferenceImages(images, names, hashes[0], hashes[1], listing.ignored)


def _widened(images: NDArray[Any], allocate: Allocate) -> NDArray[np.float32]:
    """The images as float32: unchanged, or copied a few at a time into a new array."""
    if images.dtype == np.float32:
        return images
    wide: NDArray[np.float32] = allocate(images.shape, np.float32)
    wide[...] = images
    return wide


def _refuse_array(count: int, size: int) -> None:
    """Raise ``TooLarge`` if ``count`` images as float32 would exceed ``MAX_ARRAY_BYTES``."""
    if 12 * size**2 * count > MAX_ARRAY_BYTES:
        limit = f"the limit is {MAX_ARRAY_BYTES >> 30} GiB"
        raise TooLarge("too-many-images", f"{count:,} images of {size}x{size} need too much memory; {limit}.")


def _hashed(_: int, image: ReferencePixels) -> HashedImage:
    """An image with its hash and that of its mirror image, (2, 16) uint8."""
    pixels = round_to_uint8(image)
    both = pixel_hash(pixels) + pixel_hash(mirror_images(pixels[None])[0])
    return image, np.frombuffer(both, np.uint8).reshape(2, HASH_BYTES)


def _unknown_format(member: Member) -> str | None:
    return None if member.name.lower().endswith(SUFFIXES) else "is not a .png, .jpg, .jpeg or .webp"
