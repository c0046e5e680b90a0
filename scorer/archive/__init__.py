"""From a zip to images: the cheap check, the deep check, references, and zips of our own.

The first two read files that nobody vouches for: every read, every loop and every array is bounded by
what the competition asks for before it is made. No database, no store: files in, arrays out.
"""

from scorer.archive.bundling import Packed, bundle
from scorer.archive.deep import check_images, read_some
from scorer.archive.listing import ImageSpec, Listing, list_images
from scorer.archive.photograph import BOTTLENECK
from scorer.archive.pixels import Copies, PixelHashes, copies, mirrored, pixel_hashes
from scorer.archive.reference import ReferenceImages, list_references, read_references
from scorer.archive.twins import Twins, twins
from scorer.archive.writing import write_images, zip_folder

__all__ = [
    "BOTTLENECK",
    "Copies",
    "ImageSpec",
    "Listing",
    "Packed",
    "PixelHashes",
    "ReferenceImages",
    "Twins",
    "bundle",
    "check_images",
    "copies",
    "list_images",
    "list_references",
    "mirrored",
    "pixel_hashes",
    "read_references",
    "read_some",
    "twins",
    "write_images",
    "zip_folder",
]
