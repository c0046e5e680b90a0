"""Comparison of an entry's images with those of other teams' entries, once, before its evidence is made."""

import logging
from collections.abc import Iterator, Sequence

from scorer.archive import hash_pixels
from scorer.db.evidence import shared_images
from scorer.db.evidence.shared_images import HashesOfOther
from scorer.db.tables import Submission
from scorer.errors import NotFound
from scorer.evidence import records
from scorer.metrics.copying.shared_images import ImageHashes, OtherEntry, compare_entry
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import StageProgress
from worker.runtime.recording import retry_transaction
from worker.scoring import check

log = logging.getLogger(__name__)


def compare_images(context: WorkerContext, submission: Submission, progress: StageProgress) -> None:
    """Compare an entry with those of other teams that are hashed, unless that was done. ``Preempted`` when a public
    score waits.

    Its own hashes are recorded first: of two entries that are compared at once, at least one sees the other.
    """
    with context.sessions() as session:
        if shared_images.comparison_of(session, submission.ref) is not None:
            return
    hashes = hashes_of_entry(context, submission, progress)
    with context.sessions() as session:
        others = shared_images.hashes_of_others(session, submission)
    comparison = compare_entry(hashes, _read(context, others, progress))
    retry_transaction(
        context, lambda session: records.record_comparison(session, submission, comparison, now=context.now())
    )


def hashes_of_entry(context: WorkerContext, submission: Submission, progress: StageProgress) -> ImageHashes:
    """The hashes of an entry's images, which its check has stored, or made now where they are lost."""
    with context.sessions() as session:
        key = shared_images.hashes_key_of(session, submission.ref)
    if key is None or not context.blobs.exists(key):
        key = _hash_images(context, submission, progress)
    return check.load_hashes(context, key)


def _hash_images(context: WorkerContext, submission: Submission, progress: StageProgress) -> str:
    images = decoded_images.submission_images(context, submission, lambda share: progress("decoding", share))
    key = check.store_hashes(context, submission, images, hash_pixels(images))
    retry_transaction(
        context, lambda session: shared_images.add_hashes(session, submission.ref, key, now=context.now())
    )
    return key


def _read(context: WorkerContext, others: Sequence[HashesOfOther], progress: StageProgress) -> Iterator[OtherEntry]:
    """The entries with their hashes, those left out whose blob is gone."""
    for number, other in enumerate(others):
        progress("comparing", number / len(others))
        try:
            yield OtherEntry(other.ref, other.team_id, check.load_hashes(context, other.blob_key))
        except NotFound:
            log.warning("the hashes of entry %s are gone: it is compared with no others", other.ref)
