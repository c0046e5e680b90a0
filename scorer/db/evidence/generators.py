"""SQL for generator uploads and the results of their audits."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.tables import GeneratorFile, Recovery, Submission
from scorer.lifecycle import Queue
from scorer.metrics.copying.latent_recovery import MIN_GAP, MIN_SHARE_FOUND, SIGNIFICANCE_LEVEL

OTHER_GENERATOR = ("another-generator", "other-distribution")
"""Verdicts on a generator that does not produce the entry (:mod:`scorer.metrics.copying.generator_match`)."""


def count_since(session: Session, submission_ref: int, since: datetime) -> int:
    query = select(func.count()).where(
        GeneratorFile.submission_ref == submission_ref, GeneratorFile.created_at >= since
    )
    return int(session.scalar(query) or 0)


def cancel_audits(session: Session, submission_ref: int, now: datetime) -> None:
    job_queue.cancel_jobs(session, now, queue=Queue.RECOVER, submission_ref=submission_ref)


def earlier_recoveries(session: Session, generator: GeneratorFile) -> Sequence[tuple[GeneratorFile, Recovery]]:
    """The generators that this one has replaced, each with its audit's outcome, newest first."""
    query = (
        select(GeneratorFile, Recovery)
        .join(Recovery, Recovery.generator_id == GeneratorFile.id)
        .where(GeneratorFile.submission_ref == generator.submission_ref, GeneratorFile.id < generator.id)
        .order_by(Recovery.job_id.desc())
    )
    return [(earlier, recovery) for earlier, recovery in session.execute(query)]


def newest_recovery_id(session: Session) -> int:
    return int(session.scalar(select(func.max(Recovery.job_id))) or 0)


def load_refs_with_other_generator(session: Session, refs: Collection[int]) -> set[int]:
    """The entries that their newest generator does not produce, according to its newest audit."""
    newest = (
        select(GeneratorFile.submission_ref, Recovery.report["match"]["verdict"].astext.label("verdict"))
        .join(Recovery, Recovery.generator_id == GeneratorFile.id)
        .where(GeneratorFile.submission_ref.in_(refs))
        .ext(distinct_on(GeneratorFile.submission_ref))
        .order_by(GeneratorFile.submission_ref, GeneratorFile.id.desc(), Recovery.job_id.desc())
        .subquery()
    )
    return set(session.scalars(select(newest.c.submission_ref).where(newest.c.verdict.in_(OTHER_GENERATOR))))


def refs_with_overfitted_generator(competition_id: int) -> Select[Any]:
    """The refs of a competition's entries with a generator, replaced or not, that is overfitted to its training images.
    Same condition as :func:`scorer.metrics.copying.latent_recovery.is_overfitted`, but only for trusted searches."""
    trusted = or_(Recovery.recovered_share.is_(None), Recovery.recovered_share >= MIN_SHARE_FOUND)
    return (
        select(GeneratorFile.submission_ref.label("ref"))
        .join(Recovery, Recovery.generator_id == GeneratorFile.id)
        .join(Submission, Submission.ref == GeneratorFile.submission_ref)
        .where(Submission.competition_id == competition_id, trusted)
        .where(Recovery.p_value < SIGNIFICANCE_LEVEL, Recovery.gap > MIN_GAP)
        .distinct()
    )
