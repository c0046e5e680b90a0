"""The blob store: files by key, in a folder or S3."""

from scorer.blobs.blob_writer import BlobWriter, ReceivedBlob, require_free
from scorer.blobs.object_store import parse_folder
from scorer.blobs.store import Blobs, DamagedBlob, StoredBlob, open_blobs, require_bytes

__all__ = [
    "BlobWriter",
    "Blobs",
    "DamagedBlob",
    "ReceivedBlob",
    "StoredBlob",
    "open_blobs",
    "parse_folder",
    "require_bytes",
    "require_free",
]
