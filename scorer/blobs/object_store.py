"""Opens the object store at an address."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from obstore.store import LocalStore, ObjectStore, from_url

MAX_RETRIES = 7
"""S3's "slow down" and lost connections pass unnoticed for some seconds; after that the caller tries again later."""


def folder_of(url: str) -> Path | None:
    """The folder of the blob store at ``url``; None if that is no folder of this machine."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def object_store_at(url: str, secret_key: str | None, **options: Any) -> ObjectStore:
    """The store at ``url``; a missing folder is created. ``secret_key`` is that of S3, None for the environment's."""
    folder = folder_of(url)
    if folder is not None:
        return LocalStore(folder, mkdir=True)
    if secret_key and urlsplit(url).scheme == "s3":
        options["secret_access_key"] = secret_key
    return from_url(url, retry_config={"max_retries": MAX_RETRIES}, **options)
