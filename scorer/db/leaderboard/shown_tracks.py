"""SQL for shown tracks: the shown tracks of a competition, and the values of entries on them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, any_, exists, func, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db import rescoring
from scorer.db.leaderboard.scores import id_list
from scorer.db.tables import ShownMeasurement, ShownTrack, Submission
from scorer.lifecycle import Status, TrackKind


class ShownValue(NamedTuple):
    """An entry's value on a shown track, with its standard error over the choice of images. None means that there is
    none."""

    value: float | None
    standard_error: float | None


def load_shown_tracks(session: Session, competition_id: int) -> Sequence[ShownTrack]:
    return _load(session, ShownTrack.competition_id == competition_id)


def shown_tracks_with(session: Session, preparation_id: int) -> Sequence[ShownTrack]:
    return _load(session, ShownTrack.preparation_id == preparation_id)


def _load(session: Session, condition: ColumnElement[bool]) -> Sequence[ShownTrack]:
    query = select(ShownTrack).where(condition, ShownTrack.removed_at.is_(None))
    return session.scalars(query.order_by(ShownTrack.id)).all()


def forget_preparations(session: Session, competition_id: int, reference: TrackKind) -> None:
    """Remove the preparations from a competition's shown tracks that are measured against a track's references."""
    session.execute(
        update(ShownTrack)
        .where(ShownTrack.competition_id == competition_id, ShownTrack.reference == reference)
        .where(ShownTrack.removed_at.is_(None))
        .values(preparation_id=None)
    )


def missing_entries(session: Session, shown: ShownTrack) -> Sequence[int]:
    """The refs of the scored entries with a zip that have not been measured on a shown track."""
    query = select(Submission.ref).where(
        Submission.competition_id == shown.competition_id,
        Submission.status == Status.SCORED,
        Submission.blob_key.is_not(None),
        ~_is_measured(shown),
    )
    return session.scalars(query.order_by(Submission.ref)).all()


def count_without_zip(session: Session, shown: ShownTrack) -> int:
    """How many scored entries cannot be measured, because they are imported or have lost their zip."""
    return rescoring.count_without_zip(session, shown.competition_id, ~_is_measured(shown))


def count_measured(session: Session, shown: ShownTrack) -> int:
    query = select(func.count(ShownMeasurement.submission_ref.distinct()))
    return int(session.scalar(query.where(ShownMeasurement.shown_track_id == shown.id)) or 0)


def _is_measured(shown: ShownTrack) -> ColumnElement[bool]:
    same = ShownMeasurement.shown_track_id == shown.id, ShownMeasurement.submission_ref == Submission.ref
    return exists().where(*same)


def load_shown_values(
    session: Session, shown: Collection[ShownTrack], refs: Collection[int], *, until: datetime | None = None
) -> Mapping[int, Mapping[str, ShownValue]]:
    """The newest values as of the moment ``until``, by ref and shown track's name. Entries without one are missing."""
    if not shown or not refs:
        return {}
    names = {track.id: track.name for track in shown}
    columns = (ShownMeasurement.submission_ref, ShownMeasurement.shown_track_id)
    query = (
        select(*columns, ShownMeasurement.value, ShownMeasurement.standard_error)
        .ext(distinct_on(*columns))
        .where(ShownMeasurement.submission_ref == any_(id_list(refs)), ShownMeasurement.shown_track_id.in_(names))
        .order_by(*columns, ShownMeasurement.id.desc())
    )
    if until is not None:
        query = query.where(ShownMeasurement.created_at <= until)
    values: dict[int, dict[str, ShownValue]] = {}
    for ref, shown_id, value, standard_error in session.execute(query):
        values.setdefault(ref, {})[names[shown_id]] = ShownValue(value, standard_error)
    return values


def values_on(session: Session, shown_id: int) -> Mapping[int, float]:
    """The newest values on a shown track, by ref, of entries that have one."""
    query = (
        select(ShownMeasurement.submission_ref, ShownMeasurement.value)
        .ext(distinct_on(ShownMeasurement.submission_ref))
        .where(ShownMeasurement.shown_track_id == shown_id)
        .order_by(ShownMeasurement.submission_ref, ShownMeasurement.id.desc())
    )
    return {ref: value for ref, value in session.execute(query) if value is not None}
