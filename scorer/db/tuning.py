"""SQL for thresholds and for comparing extractors on labelled submissions."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import any_, exists, func, literal, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import id_list
from scorer.db.tables import (
    ComparedDistance,
    Comparison,
    Job,
    Measurement,
    Preparation,
    Submission,
    Threshold,
    Track,
)
from scorer.lifecycle import UNFINISHED, JobState, Queue


def newest_comparison(session: Session, competition_id: int) -> Comparison | None:
    """The comparison that a competition shows."""
    query = select(Comparison).where(Comparison.competition_id == competition_id)
    return session.scalars(query.order_by(Comparison.id.desc()).limit(1)).one_or_none()


def newest_comparisons_with(session: Session, preparation_id: int) -> Sequence[Comparison]:
    """The newest comparisons of competitions in which a preparation is a candidate."""
    latest = (
        select(Comparison.id)
        .ext(distinct_on(Comparison.competition_id))
        .order_by(Comparison.competition_id, Comparison.id.desc())
    )
    query = select(Comparison).where(
        Comparison.id.in_(latest), literal(preparation_id) == any_(Comparison.preparation_ids)
    )
    return session.scalars(query.order_by(Comparison.id)).all()


def preparations(session: Session, ids: Sequence[int]) -> list[Preparation]:
    """Preparations in the order of ``ids``."""
    found = {row.id: row for row in session.scalars(select(Preparation).where(Preparation.id.in_(ids)))}
    return [found[each] for each in ids]


def refs_with_images(session: Session, competition_id: int) -> set[int]:
    """The refs of a competition's scored entries whose zip is here, late ones aside."""
    query = select(Submission.ref).where(
        Submission.competition_id == competition_id,
        Submission.status == "scored",
        ~Submission.late,
        Submission.blob_key.is_not(None),
    )
    return set(session.scalars(query))


def count_without_images(session: Session, competition_id: int) -> int:
    """How many scored entries of a competition are numbers alone."""
    query = select(func.count()).where(
        Submission.competition_id == competition_id, Submission.status == "scored", Submission.blob_key.is_(None)
    )
    return int(session.scalar(query) or 0)


def refs_to_measure(session: Session, preparation_id: int, refs: Collection[int]) -> list[int]:
    """Which of the entries have no distance in a space, and nobody is at it."""
    at_it = exists().where(
        Job.submission_ref == Submission.ref,
        Job.queue == Queue.COMPARE,
        Job.preparation_id == preparation_id,
        Job.state.in_(UNFINISHED),
    )
    measured = set(distances(session, preparation_id, refs))
    missing = [ref for ref in refs if ref not in measured]
    query = select(Submission.ref).where(Submission.ref == any_(id_list(missing)), ~at_it)
    return list(session.scalars(query.order_by(Submission.ref)))


def distances(session: Session, preparation_id: int, refs: Collection[int]) -> dict[int, float]:
    """The distance of every such entry in a space, by ref, whether comparing or scoring has measured it."""
    wanted = any_(id_list(refs))
    compared = (
        select(ComparedDistance.submission_ref, ComparedDistance.memorization_distance)
        .ext(distinct_on(ComparedDistance.submission_ref))
        .where(ComparedDistance.preparation_id == preparation_id, ComparedDistance.submission_ref == wanted)
        .order_by(ComparedDistance.submission_ref, ComparedDistance.job_id.desc())
    )
    scored = (
        select(Measurement.submission_ref, Measurement.memorization_distance)
        .ext(distinct_on(Measurement.submission_ref))
        .join(Track, Track.id == Measurement.track_id)
        .where(Track.preparation_id == preparation_id, Measurement.submission_ref == wanted)
        .order_by(Measurement.submission_ref, Measurement.id.desc())
    )
    found = {ref: distance for ref, distance in session.execute(compared)}  # noqa: C416 - not pairs to a type checker
    return found | {ref: distance for ref, distance in session.execute(scored)}  # noqa: C416


def is_measuring(session: Session, preparation_id: int, refs: Collection[int]) -> bool:
    """Whether work on some of the entries in a space is left, be it comparing or scoring."""
    comparing = (Job.queue == Queue.COMPARE) & (Job.preparation_id == preparation_id)
    tracks = select(Track.id).where(Track.preparation_id == preparation_id)
    scoring = (Job.queue == Queue.SCORE) & Job.track_id.in_(tracks)
    left = select(Job.id).where(
        Job.state.in_(UNFINISHED), comparing | scoring, Job.submission_ref == any_(id_list(refs))
    )
    return session.scalar(left.limit(1)) is not None


def former_preparations(session: Session, competition_id: int) -> Sequence[int]:
    """What former private tracks of a competition were measured against, the newest first."""
    query = select(Track.preparation_id).where(
        Track.competition_id == competition_id, Track.kind == "former", Track.preparation_id.is_not(None)
    )
    return [each for each in session.scalars(query.order_by(Track.id.desc())) if each is not None]


def failure_messages(session: Session, preparation_id: int, refs: Collection[int]) -> list[str]:
    """What went wrong with those of the entries whose newest job in a space has failed for good."""
    latest = (
        select(Job.state, Job.error)
        .ext(distinct_on(Job.submission_ref))
        .where(
            Job.queue == Queue.COMPARE, Job.preparation_id == preparation_id, Job.submission_ref == any_(id_list(refs))
        )
        .order_by(Job.submission_ref, Job.id.desc())
        .subquery()
    )
    return [error or "" for error in session.scalars(select(latest.c.error).where(latest.c.state == JobState.FAILED))]


def newest_threshold(session: Session, track_id: int, at: datetime | None = None) -> Threshold | None:
    """The threshold that a track is ranked with (was ranked with at the moment ``at``)."""
    query = select(Threshold).where(Threshold.track_id == track_id)
    if at is not None:
        query = query.where(Threshold.created_at <= at)
    return session.scalars(query.order_by(Threshold.id.desc()).limit(1)).one_or_none()


def lock_track(session: Session, track_id: int) -> None:
    """Let one transaction at a time choose a track's tau."""
    session.execute(select(Track.id).where(Track.id == track_id).with_for_update()).one()


def thresholds_of(session: Session, track_id: int) -> Sequence[Threshold]:
    """The history of a track's tau, newest first."""
    return session.scalars(select(Threshold).where(Threshold.track_id == track_id).order_by(Threshold.id.desc())).all()
