"""SQL for thresholds, and for comparing extractors on labelled entries."""

from collections.abc import Collection, Sequence

from sqlalchemy import any_, exists, literal, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db import rescoring
from scorer.db.leaderboard.scores import id_list
from scorer.db.newest_rows import newest_ids, newest_row, newest_rows, only_row
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
from scorer.db.tables.tuning import UNSET as UNSET  # noqa: PLC0414 - with the SQL of thresholds
from scorer.lifecycle import UNFINISHED, JobState, Queue, Status


def newest_comparisons_with(session: Session, preparation_id: int) -> Sequence[Comparison]:
    """The newest comparison of each competition, if a preparation is a candidate in it."""
    newest = (
        select(Comparison.id)
        .ext(distinct_on(Comparison.competition_id))
        .order_by(Comparison.competition_id, Comparison.id.desc())
    )
    query = select(Comparison).where(
        Comparison.id.in_(newest), literal(preparation_id) == any_(Comparison.preparation_ids)
    )
    return session.scalars(query.order_by(Comparison.id)).all()


def preparations(session: Session, ids: Sequence[int]) -> list[Preparation]:
    """Preparations in the order of ``ids``."""
    by_id = {row.id: row for row in session.scalars(select(Preparation).where(Preparation.id.in_(ids)))}
    return [by_id[id_] for id_ in ids]


def refs_with_images(session: Session, competition_id: int) -> set[int]:
    """Scored entries in time that have a zip. Imported entries and those with a deleted zip have none."""
    query = select(Submission.ref).where(
        Submission.competition_id == competition_id,
        Submission.status == Status.SCORED,
        ~Submission.late,
        Submission.blob_key.is_not(None),
    )
    return set(session.scalars(query))


def refs_to_measure(session: Session, preparation_id: int, refs: Collection[int]) -> list[int]:
    """The entries without a distance in a preparation's feature space and without an unfinished job for it."""
    has_job = exists().where(
        Job.submission_ref == Submission.ref,
        Job.queue == Queue.COMPARE,
        Job.preparation_id == preparation_id,
        Job.state.in_(UNFINISHED),
    )
    measured = set(distances(session, preparation_id, refs))
    missing = [ref for ref in refs if ref not in measured]
    query = select(Submission.ref).where(Submission.ref == any_(id_list(missing)), ~has_job)
    return list(session.scalars(query.order_by(Submission.ref)))


def distances(session: Session, preparation_id: int, refs: Collection[int]) -> dict[int, float]:
    """The memorization distances of entries by ref, from scoring or else from a comparison."""
    any_ref = any_(id_list(refs))
    compared = (
        select(ComparedDistance.submission_ref, ComparedDistance.memorization_distance)
        .ext(distinct_on(ComparedDistance.submission_ref))
        .where(ComparedDistance.preparation_id == preparation_id, ComparedDistance.submission_ref == any_ref)
        .order_by(ComparedDistance.submission_ref, ComparedDistance.job_id.desc())
    )
    scored = (
        select(Measurement.submission_ref, Measurement.memorization_distance)
        .ext(distinct_on(Measurement.submission_ref))
        .join(Track, Track.id == Measurement.track_id)
        .where(Track.preparation_id == preparation_id, Measurement.submission_ref == any_ref)
        .where(rescoring.counts(Measurement.campaign_id))
        .order_by(Measurement.submission_ref, Measurement.id.desc())
    )
    by_ref = {ref: distance for ref, distance in session.execute(compared)}  # noqa: C416 - not pairs to a type checker
    return by_ref | {ref: distance for ref, distance in session.execute(scored)}  # noqa: C416


def is_measuring(session: Session, preparation_id: int, refs: Collection[int]) -> bool:
    """Whether any of the entries has an unfinished comparing or scoring job for a preparation."""
    comparing = (Job.queue == Queue.COMPARE) & (Job.preparation_id == preparation_id)
    tracks = select(Track.id).where(Track.preparation_id == preparation_id)
    scoring = Job.queue.in_((Queue.DRAW, Queue.SCORE)) & Job.track_id.in_(tracks)
    unfinished = select(Job.id).where(
        Job.state.in_(UNFINISHED), comparing | scoring, Job.submission_ref == any_(id_list(refs))
    )
    return session.scalar(unfinished.limit(1)) is not None


def former_preparations(session: Session, competition_id: int) -> Sequence[int]:
    """The ids of the preparations of a competition's former private tracks, newest first."""
    query = select(Track.preparation_id).where(
        Track.competition_id == competition_id, Track.kind == "former", Track.preparation_id.is_not(None)
    )
    return [id_ for id_ in session.scalars(query.order_by(Track.id.desc())) if id_ is not None]


def failure_messages(session: Session, preparation_id: int, refs: Collection[int]) -> list[str]:
    """The errors of the entries with a newest comparing job for a preparation that has failed."""
    newest = (
        select(Job.state, Job.error)
        .ext(distinct_on(Job.submission_ref))
        .where(
            Job.queue == Queue.COMPARE, Job.preparation_id == preparation_id, Job.submission_ref == any_(id_list(refs))
        )
        .order_by(Job.submission_ref, Job.id.desc())
        .subquery()
    )
    return [error or "" for error in session.scalars(select(newest.c.error).where(newest.c.state == JobState.FAILED))]


def newest_threshold(session: Session, track_id: int) -> Threshold | None:
    """The threshold that ranks a track's board; None if none was chosen since the track is measured this way."""
    newest = newest_row(session, Threshold, track_id=track_id)
    return None if newest is None or newest.method == UNSET else newest


def newest_thresholds(session: Session, track_ids: Collection[int]) -> dict[int, Threshold]:
    """The thresholds that rank the boards of these tracks, by track. Tracks without one are missing."""
    query = select(Threshold).where(Threshold.id.in_(newest_ids(Threshold.track_id, track_ids, 1)))
    return {newest.track_id: newest for newest in session.scalars(query) if newest.method != UNSET}


def lock_track(session: Session, track_id: int) -> str:
    """Let only one transaction at a time record a track's tau. Measurements can still be recorded. Returns the track's
    kind once the lock is held."""
    query = select(Track.kind).where(Track.id == track_id).with_for_update(key_share=True)
    return session.execute(query).scalar_one()


def threshold(session: Session, track_id: int, threshold_id: int) -> Threshold | None:
    return only_row(session, Threshold, track_id=track_id, id=threshold_id)


def load_thresholds(session: Session, track_id: int) -> Sequence[Threshold]:
    return newest_rows(session, Threshold, track_id=track_id)


UNDO = "undo"
"""The method of a threshold that restores the previous one."""


def effective_thresholds(newest_first: Sequence[Threshold]) -> list[Threshold]:
    """The choices that have not been undone, oldest first. The next undo restores the one before the last."""
    effective: list[Threshold] = []
    for row in reversed(newest_first):
        if row.method == UNDO:
            effective.pop()
        else:
            effective = [] if row.method == UNSET else [*effective, row]
    return effective
