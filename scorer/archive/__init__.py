"""Archives: from zips to checked images, reference images and pixel hashes, and zips written by Kennel itself.

Participants' files are untrusted: every read, loop and array is bounded by the image specification before it is made.
No database, no store: files in, arrays out.

What needs the standard library alone (the directory, its limits, members, one PNG's structure) is the client's
``kennel_client.archive``, so that participants check with the same code.

limited_listing: the cheap check, from the directory alone, by a limited process
png_decoding, deep_check: one PNG's pixels; the deep check of every image
decoder_pool, decoder_process, shared_window: images decoded by limited processes
pixel_hashes, exact_duplicates: training-image copies; equal and mirrored images within one zip
reference_image, reference_set: one reference image, resized; an organizer's zip of them
selected_images, sprite_sheet: a few images by index; a sample of them tiled into one PNG
zip_writing, zip_streaming: zips of images; zips streamed without being stored
"""

from kennel_client.archive import ImageSpec, Listing, list_images
from scorer.archive.deep_check import check_images, read_images_at
from scorer.archive.exact_duplicates import ExactDuplicates, find_exact_duplicates
from scorer.archive.pixel_hashes import (
    PixelHashes,
    TrainingImageCopies,
    find_training_image_copies,
    hash_pixels,
    mirror_images,
)
from scorer.archive.reference_image import BOTTLENECK
from scorer.archive.reference_set import ReferenceImages, list_references, read_references, require_two
from scorer.archive.zip_streaming import ZipEntry, zip_headers
from scorer.archive.zip_writing import write_images

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
