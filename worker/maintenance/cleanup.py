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


def clean_up_uploads(bench: WorkerContext) -> None:
    """One round; says in the log what it did, if anything."""

    def begin() -> AbstractContextManager[Session]:
        return transaction(bench.sessions, bench.broker)

    with begin() as session:
        ended = uploads.expire(session, bench.now())
        left = uploads.next_unfinished(session, bench.now())
    if ended:
        log.info("%d uploads were abandoned", ended)
    if left is not None:
        log.warning("upload %s was left whole: its submission is made now", left.id)
        public_id = new_public_id()
        try:
            upload_bytes.finalise(begin, bench.blobs, left.id, public_id=public_id, now=bench.now)
        except Exception:
            log.exception("upload %s could not be made a submission; the next round tries again", left.id)
    with begin() as session:
        uploads.clear(session, bench.blobs)


def remove_orphaned_blobs(bench: WorkerContext) -> None:
    """Remove bytes that no upload counts, of requests that were killed, of a PUT that came too late; and features that
    were kept for evidence that never came."""
    before = bench.now() - LOST_AFTER
    with transaction(bench.sessions, bench.broker) as session:
        lost = uploads.orphaned_blobs(session, bench.blobs.older_than("uploads", before))
    bench.blobs.delete_all(lost)
    torn = bench.blobs.remove_torn(before)
    if lost or torn:
        log.info("removed %d lost parts of uploads and %d torn files", len(lost), torn)
    old = feature_cache.delete_expired_features(bench)
    if old:
        log.info("removed the features of %d entries that nobody has examined", old)


def remove_expired_rows(bench: WorkerContext) -> dict[str, int]:
    """Remove rows that have been over for as long as the operator keeps them; how many, by table."""
    removed: dict[str, int] = {}
    for table, over in retention.expired_before(bench.now() - timedelta(days=bench.settings.kept_days)).items():
        count = BATCH_SIZE
        while count == BATCH_SIZE:
            with transaction(bench.sessions, bench.broker) as session:
                count = retention.remove(session, table, over, BATCH_SIZE)
            removed[table.__tablename__] = removed.get(table.__tablename__, 0) + count
    if any(removed.values()):
        log.info("removed what is over: %s", {name: count for name, count in removed.items() if count})
    return removed
