"""Zips of images: read and checked by the standard library alone, on a participant's machine as in the service.

Participants' files are untrusted: every read and loop is bounded by the image specification before it is made.

faults: error messages about faulty members
central_directory, zip_bombs, zip_reader: a zip's directory; limits on what it declares; members unpacked in threads
listing: the cheap check, from the directory alone
png_check, png_pixels: one PNG without its pixels; its pixels, where Pillow is installed
zip_check: every image of a zip
objections, training_images: what people would object to; the training images, where Pillow is installed
zip_writing: deterministic zips of files
"""

from kennel_client.archive.listing import ImageSpec, Listing, list_images
from kennel_client.archive.objections import Objection, objections_to
from kennel_client.archive.zip_check import ZipCheck, check_zip, has_pillow
from kennel_client.archive.zip_writing import zip_folder

__all__ = [
    "ImageSpec",
    "Listing",
    "Objection",
    "ZipCheck",
    "check_zip",
    "has_pillow",
    "list_images",
    "objections_to",
    "zip_folder",
]
