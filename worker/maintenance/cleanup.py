"""What is left behind: abandoned uploads end, whole ones without a maker are finished, bytes and rows nobody needs
go."""

import logging
from contextlib import AbstractContextManager
from datetime import timedelta

from sqlalchemy.orm import Session

from scorer.db import retention
from scorer.identifiers import new_public_id
from scorer.jobs.broker import transaction
from scorer.submissions import upload_bytes, uploads
from worker.runtime.context import WorkerContext
from worker.scoring import feature_cache

log = logging.getLogger(__name__)
BATCH_SIZE = 5000
"""Rows that one transaction removes, so that none is long."""
LOST_AFTER = timedelta(days=2)
"""Bytes without an upload are kept for so long: no request and no presigned PUT takes longer to arrive."""


def clean_up_uploads(context: WorkerContext) -> None:
    """One round; says in the log what it did, if anything."""

    def begin() -> AbstractContextManager[Session]:
        return transaction(context.sessions, context.broker)

    with begin() as session:
        ended = uploads.expire(session, context.now())
        left = uploads.next_unfinished(session, context.now())
    if ended:
        log.info("%d uploads were abandoned", ended)
    if left is not None:
        log.warning("upload %s was left whole: its submission is made now", left.id)
        public_id = new_public_id()
        try:
            upload_bytes.finalise(begin, context.blobs, left.id, public_id=public_id, now=context.now)
        except Exception:
            log.exception("upload %s could not be made a submission; the next round tries again", left.id)
    with begin() as session:
        uploads.clear(session, context.blobs)


def remove_orphaned_blobs(context: WorkerContext) -> None:
    """Remove bytes that no upload counts, of requests that were killed, of a PUT that came too late; and features that
    were kept for evidence that never came."""
    before = context.now() - LOST_AFTER
    with transaction(context.sessions, context.broker) as session:
        lost = uploads.orphaned_blobs(session, context.blobs.older_than("uploads", before))
    context.blobs.delete_all(lost)
    torn = context.blobs.remove_partial_files(before)
    if lost or torn:
        log.info("removed %d lost parts of uploads and %d torn files", len(lost), torn)
    old = feature_cache.delete_expired_features(context)
    if old:
        log.info("removed the features of %d entries that nobody has examined", old)


def remove_expired_rows(context: WorkerContext) -> dict[str, int]:
    """Remove rows that have been over for as long as the operator keeps them; how many, by table."""
    removed: dict[str, int] = {}
    for table, over in retention.expired_before(context.now() - timedelta(days=context.settings.kept_days)).items():
        count = BATCH_SIZE
        while count == BATCH_SIZE:
            with transaction(context.sessions, context.broker) as session:
                count = retention.remove(session, table, over, BATCH_SIZE)
            removed[table.__tablename__] = removed.get(table.__tablename__, 0) + count
    if any(removed.values()):
        log.info("removed what is over: %s", {name: count for name, count in removed.items() if count})
    return removed
