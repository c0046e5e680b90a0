"""Checks of the blob store: that it is the right one and allows everything that the service needs."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import httpx

from deploy.doctor.installation import SECONDS, Check, Fault, Installation, Skipped
from deploy.standalone.unix_account import acting_as, find_owner
from scorer.blobs import parse_folder, require_free
from scorer.blobs.blob_writer import JOIN_BUFFER_BYTES
from scorer.db.diagnostics import newest_zips
from scorer.errors import OutOfSpace, StoreUnavailable
from scorer.identifiers import new_public_id

CONTENT = b"doctor"
MAX_ZIPS = 20
URL_LIFE = timedelta(minutes=1)


@contextmanager
def _step(what: str) -> Iterator[None]:
    """Turn an error in the block into a fault that names the refused operation."""
    try:
        yield
    except StoreUnavailable as error:
        raise Fault(f"The blob store cannot be {what}: {error.reason}") from error
    except Exception as error:
        raise Fault(
            f"The blob store cannot be {what}: {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        ) from error


@contextmanager
def _as_its_owner(installation: Installation) -> Iterator[None]:
    """Act as the folder's owner: root can write where the service cannot, and would create folders closed to it."""
    folder = parse_folder(installation.settings.blob_url)
    with acting_as(find_owner(folder) if folder is not None else None):
        yield


@contextmanager
def _temporary_key(installation: Installation) -> Iterator[str]:
    """A key that is free before and after; the cleanup of lost uploads removes what a killed command leaves there."""
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
                    raise ValueError("the data read differs from the data written")
            with _step("listed"):
                moment = installation.now() + timedelta(days=1)
                if not any(key in keys for keys in blobs.older_than("uploads/", moment)):
                    raise ValueError("the written blob is missing from the list")
    return "the service can write, read, list and delete blobs"


def _large_blobs(installation: Installation) -> str:
    blobs = installation.blobs
    with _as_its_owner(installation), _temporary_key(installation) as key, _step("written to in parts"):
        blobs.write(key, bytes(JOIN_BUFFER_BYTES // 2 + 1))
        blobs.join([key, key], f"{key}-2")  # longer than one part
    return "the service can write blobs in several parts"


def _free_space(installation: Installation) -> str:
    folder = parse_folder(installation.settings.blob_url)
    if folder is None:
        raise Skipped("the store is not on a disk of this machine")
    free = installation.free_bytes(folder)
    wanted = 4 * installation.settings.max_upload_bytes
    if free < wanted:
        raise Fault(f"{free:,} bytes are free for zips; the four largest that may be uploaded need {wanted:,}.")
    try:
        require_free(folder, installation.settings.min_free_bytes)
    except OutOfSpace:
        raise Fault(f"Uploads are refused because too few bytes or inodes are free in {folder} (df, df -i).") from None
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
                raise Fault(f"{endpoint} responds to {method} with {answer.status_code}: {answer.text[:200]}")
    return f"participants can upload to {endpoint} and download from it"


def _zips(installation: Installation) -> str:
    with installation.sessions() as session:
        keys = newest_zips(session, MAX_ZIPS)
    missing = [key for key in keys if not installation.blobs.exists(key)]
    if missing:
        raise Fault(f"{len(missing)} of the {len(keys)} newest entries' zips are missing, for example {missing[0]}.")
    return f"the {len(keys)} newest entries' zips exist"


CHECKS = (
    Check(
        "blob store",
        _store,
        "For a folder: check its owner and mode. For S3: check AWS_ENDPOINT, the bucket, AWS_REGION, the key "
        "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) and its rights s3:PutObject, "
        "s3:GetObject, s3:ListBucket and s3:DeleteObject. Also check this machine's clock, which may "
        "differ from the store's by a few minutes at most.",
    ),
    Check(
        "large blobs",
        _large_blobs,
        "Give the key s3:AbortMultipartUpload and s3:ListMultipartUploadParts. Nothing between this machine and "
        "the store may limit requests to less than 8 MiB.",
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
        "Set KENNEL_S3_PUBLIC_ENDPOINT to the name under which participants reach the same bucket, or unset it.",
        ["blob store"],
    ),
    Check(
        "zips",
        _zips,
        "Correct BLOB_URL if the entries are in another store. If the store has lost blobs, restore a backup.",
        ["blob store", "migrations"],
    ),
)
