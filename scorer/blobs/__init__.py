"""The blob store: files by key, in a folder or S3.

store: reading, writing, copying, listing and deleting blobs
presigning: addresses of S3 for a body of one length
object_store: the store at an address
store_errors: errors of the store as those for people
blob_reader: a blob as a file
blob_writer: blobs whose bytes come slowly, with few of them in memory
"""

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
