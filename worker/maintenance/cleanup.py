"""The cleanup: expires abandoned uploads, finishes complete ones, and removes orphaned blobs, expired rows and zips
that are no longer needed."""

import logging
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from sqlalchemy.orm import Session

from scorer.archive.decoder_pool import choose_process_count
from scorer.archive.reference_set import NAMES_FILE
from scorer.db import retention
from scorer.db.blob_references import FOLDERS, referenced_keys
from scorer.db.review import zip_removal
from scorer.errors import StoreUnavailable
from scorer.identifiers import new_public_id
from scorer.review import zip_retention
from scorer.submissions import upload_bytes, uploads
from worker.runtime.context import WorkerContext
from worker.runtime.self_test import SELF_TESTS
from worker.scoring import feature_cache

log = logging.getLogger(__name__)
BATCH_SIZE = 5000
"""Rows removed in one transaction, so that none takes long."""
ZIP_BATCH = 500
"""Zips detached from their entries in one transaction."""
DECODED_SET_DEPTH = 3
"""Parts of the path of a decoded reference set's folder (:class:`worker.scoring.reference_features.SetAddress`)."""
MAX_FINISHED = 50
"""The most uploads that one round turns into submissions: web processes that are killed at a deadline leave
hundreds.
"""
LOST_AFTER = timedelta(days=2)
"""Age from which a blob without a row is removed: a blob gets its row earlier than that."""


def clean_up_uploads(context: WorkerContext) -> None:
    """Expire abandoned uploads, create submissions for complete ones without one, and remove expired uploads."""
    with context.transaction() as session:
        expired = uploads.expire(session, context.now())
    if expired:
        log.info("%d uploads were abandoned", expired)
    for _ in range(MAX_FINISHED):
        if not _finish_next_upload(context):
            break
    with context.transaction() as session:
        uploads.clear(session, context.blobs, context.now())


def _finish_next_upload(context: WorkerContext) -> bool:
    """Create the submission for a complete upload without one; False if there is none, or if it failed."""
    lease = uploads.FINISH_LEASE * context.settings.retry_factor
    with context.transaction() as session:
        unfinished = uploads.next_unfinished(session, context.now(), lease)
    if unfinished is None:
        return False
    log.warning("upload %s is complete but has no submission: creating it now", unfinished.id)
    public_id = new_public_id()
    try:
        upload_bytes.finalise(
            context.transaction,
            context.blobs,
            unfinished.id,
            public_id=public_id,
            now=context.now,
            lease=lease,
            limited=choose_process_count(context.settings.decoding_processes) > 0,
        )
    except StoreUnavailable as error:
        log.warning(
            "the submission for upload %s could not be created; the next round tries again: %s", unfinished.id, error
        )
        return False
    except Exception:
        log.exception("the submission for upload %s could not be created; the next round tries again", unfinished.id)
        return False
    return True


def remove_orphaned_blobs(context: WorkerContext) -> None:
    """Remove blobs that no row refers to (from killed requests and workers, or a late PUT), and features cached for
    evidence that was never computed.
    """
    before = context.now() - LOST_AFTER
    removed = Counter({"torn files": context.blobs.remove_partial_files(before)})
    for folder in ("uploads", SELF_TESTS, *FOLDERS):
        for keys in context.blobs.older_than(folder, before):
            with context.transaction() as session:
                unreferenced = _orphaned(session, folder, keys)
            # a retry may have just written a blob again under the same key, and its row
            orphaned = [key for key in unreferenced if context.blobs.is_older(key, before)]
            context.blobs.delete_all(_markers(folder, orphaned))
            context.blobs.delete_all(orphaned)
            removed[folder] += len(orphaned)
    if removed.total():
        log.info("removed blobs without a row: %s", dict(+removed))
    expired = feature_cache.delete_expired_features(context)
    if expired:
        log.info("removed the cached features of %d entries without evidence", expired)


def _orphaned(session: Session, folder: str, keys: list[str]) -> list[str]:
    if folder == "uploads":
        return uploads.orphaned_blobs(session, keys)
    if folder == SELF_TESTS:
        return keys
    return sorted(set(keys) - referenced_keys(session, folder, keys))


def _markers(folder: str, keys: list[str]) -> list[str]:
    """Blobs that mark a folder as complete (decoded reference sets); they are removed first."""
    if folder != "reference-images":
        return []
    return sorted({"/".join([*key.split("/")[:DECODED_SET_DEPTH], NAMES_FILE]) for key in keys})


def remove_expired_rows(context: WorkerContext) -> dict[str, int]:
    """Remove rows past the retention that the operator has set; returns their number by table."""
    removed: dict[str, int] = {}
    for table, over in retention.expired_before(context.now() - timedelta(days=context.settings.kept_days)).items():
        count = BATCH_SIZE
        while count == BATCH_SIZE:
            with context.transaction() as session:
                count = retention.remove(session, table, over, limit=BATCH_SIZE)
            removed[table.__tablename__] = removed.get(table.__tablename__, 0) + count
    if any(removed.values()):
        log.info("removed expired rows: %s", {name: count for name, count in removed.items() if count})
    return removed


def remove_refused_zips(context: WorkerContext) -> int:
    """Remove the zips of rejected and cancelled entries after ``kept_days``; returns their number."""
    now = context.now()
    before = now - timedelta(days=context.settings.kept_days)
    take = partial(zip_removal.take_refused_zips, before=before, now=now, limit=ZIP_BATCH)
    return _remove_zips(context, take, "rejected and cancelled entries")


def remove_old_zips(context: WorkerContext) -> int:
    """Remove zips of finished competitions on which no decision depends, after the operator's retention."""
    days, now = context.settings.kept_zip_days, context.now()
    if days is None:
        return 0
    with context.transaction() as session:
        slugs = zip_retention.competitions_past_retention(session, days, now)
    takes = (partial(zip_retention.take_zips, slug=slug, kept_days=days, now=now, limit=ZIP_BATCH) for slug in slugs)
    return sum(_remove_zips(context, take, "entries of finished competitions") for take in takes)


def _remove_zips(context: WorkerContext, take: Callable[[Session], list[str]], description: str) -> int:
    """Remove the zips that ``take`` detaches from their entries, in batches. Rows are changed first: if the worker is
    killed, its blobs are removed as orphans.
    """
    removed, keys = 0, None
    while keys is None or len(keys) >= ZIP_BATCH:  # an entry may have several
        with context.transaction() as session:
            keys = take(session)
        context.blobs.delete_all(keys)
        removed += len(keys)
    if removed:
        log.info("removed the zips of %d %s", removed, description)
    return removed
