"""Archives: from zips to checked images, reference images and pixel hashes, and zips written by Kennel itself.

Participants' files are untrusted: the image specification bounds every read, loop and array before it is made. No
database, no store: files in, arrays out.

Everything that needs only the standard library (the directory, its limits, members, the structure of one PNG) is in the
client's ``kennel_client.archive``, so participants check with the same code. ``kennel_client.archive.zip_bombs``
refuses zip bombs before anything is unpacked.
"""

from kennel_client.archive.listing import ImageSpec, Listing, list_images
from scorer.archive.deep_check import check_images, read_images_at
from scorer.archive.pixel_hashes import (
    ExactDuplicates,
    PixelHashes,
    TrainingImageCopies,
    find_exact_duplicates,
    find_training_image_copies,
    hash_pixels,
    mirror_images,
)
from scorer.archive.reference_image import BOTTLENECK
from scorer.archive.reference_set import ReferenceImages, list_references, read_references, require_two
from scorer.archive.zip_writing import ZipEntry, write_images, zip_headers

__all__ = [
    "BOTTLENECK",
    "ExactDuplicates",
    "ImageSpec",
    "Listing",
    "PixelHashes",
    "ReferenceImages",
    "TrainingImageCopies",
    "ZipEntry",
    "check_images",
    "find_exact_duplicates",
    "find_training_image_copies",
    "hash_pixels",
    "list_images",
    "list_references",
    "mirror_images",
    "read_images_at",
    "read_references",
    "require_two",
    "write_images",
    "zip_headers",
]
