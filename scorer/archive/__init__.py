"""From a zip to images: the cheap check, the deep check, references, and zips of our own.

The first two read files that nobody vouches for: every read, every loop and every array is bounded by
what the competition asks for before it is made. No database, no store: files in, arrays out.
"""

from scorer.archive.deep_check import check_images, read_some
from scorer.archive.exact_duplicates import ExactDuplicates, find_exact_duplicates
from scorer.archive.listing import ImageSpec, Listing, list_images
from scorer.archive.pixel_hashes import (
    PixelHashes,
    TrainingImageCopies,
    find_training_image_copies,
    mirror_images,
    pixel_hashes,
)
from scorer.archive.reference_image import BOTTLENECK
from scorer.archive.reference_set import ReferenceImages, list_references, read_references
from scorer.archive.zip_streaming import ZipEntry, zip_headers
from scorer.archive.zip_writing import write_images, zip_folder

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
    "list_images",
    "list_references",
    "mirror_images",
    "pixel_hashes",
    "read_references",
    "read_some",
    "write_images",
    "zip_folder",
    "zip_headers",
]
