"""The deep check: decodes every image of a participant's zip and reports every fault."""

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from kennel_client.archive.faults import sound_images
from kennel_client.archive.listing import ImageSpec, Listing
from kennel_client.archive.zip_reader import MemberProgress, map_members
from scorer.archive.decoder_pool import map_pixels
from scorer.archive.pixel_hashes import HASH_BYTES, Images, PixelHashes, pixel_hash
from scorer.archive.png_pixels import decode_png


def check_images(
    file: BinaryIO,
    listing: Listing,
    spec: ImageSpec,
    *,
    out: Images,
    processes: int = 0,
    progress: MemberProgress | None = None,
) -> PixelHashes:
    """Decode every image into ``out`` in canonical order and return their pixel hashes, (n, 16) uint8.

    ``out`` is (n, size, size, 3) uint8, in memory or mapped. Images are decoded by ``processes`` limited processes
    (:mod:`scorer.archive.decoder_pool`); with 0, in threads of this process. ``progress(done, n)`` is called now and
    then, from the caller's thread. All images are checked even after a fault, unless they end ten processes.

    Raises ``Invalid("bad-images")``: ``faults`` are the first ten by name with what is wrong,
    ``extra["fault_count"]`` counts them all; ``out`` is then only partly filled. Raises ``ValueError`` if
    ``out`` has another shape or dtype.
    """
    shape = (len(listing.members), spec.size, spec.size, 3)
    if out.shape != shape or out.dtype != np.uint8:
        raise ValueError(f"out must be {shape} uint8, not {out.shape} {out.dtype}")

    def receive(index: int, pixels: Images) -> bytes:
        out[index] = pixels
        return pixel_hash(out[index])

    hashes = np.zeros((len(listing.members), HASH_BYTES), np.uint8)
    decoded = map_pixels(file, listing.members, receive, size=spec.size, processes=processes, progress=progress)
    for index, hashed in sound_images(listing.labels, decoded):
        hashes[index] = np.frombuffer(hashed, np.uint8)
    return hashes


def read_images_at(file: BinaryIO, listing: Listing, spec: ImageSpec, *, indexes: Sequence[int]) -> list[Images]:
    """Decode the images (size, size, 3) at ``indexes`` of the canonical order, reading no other bytes of the zip.

    Raises ``Invalid("bad-images")`` like :func:`check_images`, for these images only.
    """
    members = [listing.members[index] for index in indexes]
    decoded = map_members(file, members, lambda _, content: decode_png(content, spec.size))
    images = dict(sound_images([member.label for member in members], decoded))
    return [images[index] for index in range(len(members))]
