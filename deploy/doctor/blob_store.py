"""Checks of the blob store: that everything that the service does with it is allowed, and that it is the right one."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import httpx

from deploy.doctor.installation import SECONDS, Check, Fault, Installation, Skipped
from deploy.standalone.unix_account import acting_as, owner_of
from scorer.blobs import folder_of, require_free
from scorer.blobs.blob_writer import JOIN_BUFFER_BYTES
from scorer.db.diagnostics import newest_zips
from scorer.errors import OutOfSpace, StoreUnavailable
from scorer.identifiers import new_public_id

CONTENT = b"doctor"
MAX_ZIPS = 20
URL_LIFE = timedelta(minutes=1)


@contextmanager
def _step(what: str) -> Iterator[None]:
    """An error inside is a fault that names what the store does not let us do."""
    try:
        yield
    except StoreUnavailable as error:
        raise Fault(f"It cannot be {what}: {error.reason}") from error
    except Exception as error:
        raise Fault(
            f"It cannot be {what}: {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        ) from error


@contextmanager
def _as_its_owner(installation: Installation) -> Iterator[None]:
    """Root asks as the account that the folder belongs to: root may write where the service may not, and the service
    could not write to a folder that root has made."""
    folder = folder_of(installation.settings.blob_url)
    with acting_as(owner_of(folder) if folder is not None else None):
        yield


@contextmanager
def _temporary_key(installation: Installation) -> Iterator[str]:
    """A key that is free, and is so again afterwards; what a killed command leaves there goes with lost uploads."""
    key = f"uploads/doctor-{new_public_id()}"
    written = [key, f"{key}-2"]
    try:
        yield key
    except BaseException:
        installation.blobs.discard(written)
        raise
    with _step("deleted from"):
        installation.blobs.delete_all(written)


def _store(installation: Installation) -> str:
    with _as_its_owner(installation):
        with _step("opened"):
            blobs = installation.blobs
        with _temporary_key(installation) as key:
            with _step("written to"):
                blobs.write(key, CONTENT)
            with _step("read"):
                if blobs.read(key) != CONTENT:
                    raise ValueError("what was written is not what is read")
            with _step("listed"):
                moment = installation.now() + timedelta(days=1)
                if not any(key in keys for keys in blobs.older_than("uploads/", moment)):
                    raise ValueError("what was written is not in the list")
    return "it can be written, read, listed and deleted from"


def _large_blobs(installation: Installation) -> str:
    blobs = installation.blobs
    with _as_its_owner(installation), _temporary_key(installation) as key, _step("written to in parts"):
        blobs.write(key, bytes(JOIN_BUFFER_BYTES // 2 + 1))
        blobs.join([key, key], f"{key}-2")  # longer than one part
    return "blobs of several parts can be written"


def _free_space(installation: Installation) -> str:
    folder = folder_of(installation.settings.blob_url)
    if folder is None:
        raise Skipped("the store is on no disk of this machine")
    free = installation.free_bytes(folder)
    wanted = 4 * installation.settings.max_upload_bytes
    if free < wanted:
        raise Fault(f"{free:,} bytes are free where zips are stored, fewer than four of the largest ones need.")
    try:
        require_free(folder, installation.settings.min_free_bytes)
    except OutOfSpace:
        raise Fault(f"Uploads are refused: too few bytes or inodes are free in {folder} (df, df -i).") from None
    return f"{free:,} bytes are free"


def _direct_uploads(installation: Installation) -> str:
    endpoint = installation.settings.s3_public_endpoint
    if not installation.blobs.supports_presigned_put:
        raise Skipped("all uploads pass through the web process")
    with _temporary_key(installation) as key:
        blobs = installation.blobs
        put, get = blobs.presigned_put(key, len(CONTENT), URL_LIFE), blobs.presigned_get(key, URL_LIFE)
        for method, url, content in (("PUT", put, CONTENT), ("GET", get, None)):
            answer = httpx.request(method, str(url), content=content, timeout=SECONDS, trust_env=False)
            if not answer.is_success:
                raise Fault(f"{endpoint} answers {method} with {answer.status_code}: {answer.text[:200]}")
    return f"participants can send to {endpoint} and fetch from it"


def _zips(installation: Installation) -> str:
    with installation.sessions() as session:
        keys = newest_zips(session, MAX_ZIPS)
    missing = [key for key in keys if not installation.blobs.exists(key)]
    if missing:
        raise Fault(f"{len(missing)} of the {len(keys)} newest entries' zips are not there, for example {missing[0]}.")
    return f"the {len(keys)} newest entries' zips are there"


CHECKS = (
    Check(
        "blob store",
        _store,
        "For a folder: its owner and mode. For S3: AWS_ENDPOINT, the bucket, AWS_REGION, the key (AWS_ACCESS_KEY_ID, "
        "AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) and its rights s3:PutObject, s3:GetObject, s3:ListBucket and "
        "s3:DeleteObject; and this machine's clock, which may differ from the store's by minutes only.",
    ),
    Check(
        "large blobs",
        _large_blobs,
        "Give the key s3:AbortMultipartUpload and s3:ListMultipartUploadParts; let nothing between here and the store "
        "limit the size of requests below 8 MiB.",
        ["blob store"],
    ),
    Check(
        "free space",
        _free_space,
        "Enlarge the disk, move the blobs to S3, or set KENNEL_KEPT_ZIP_DAYS.",
        ["blob store"],
    ),
    Check(
        "direct uploads",
        _direct_uploads,
        "Let KENNEL_S3_PUBLIC_ENDPOINT lead to the same bucket by the name that participants use, or unset it.",
        ["blob store"],
    ),
    Check(
        "zips",
        _zips,
        "BLOB_URL is not the store that the entries were written to, or it has lost blobs: restore a backup.",
        ["blob store", "migrations"],
    ),
)
