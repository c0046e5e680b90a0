"""The blob store: files by key, in a folder or S3."""

from scorer.blobs.blob_writer import BlobWriter, ReceivedBlob, require_free
from scorer.blobs.object_store import folder_of
from scorer.blobs.store import Blobs, DamagedBlob, StoredBlob, blobs_of, require_bytes

__all__ = [
    "BlobWriter",
    "Blobs",
    "DamagedBlob",
    "ReceivedBlob",
    "StoredBlob",
    "blobs_of",
    "folder_of",
    "require_bytes",
    "require_free",
]
