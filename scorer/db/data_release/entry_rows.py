"""SQL for the rows of a data release on entries: the entries, their measurements, and their human ratings."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Select, any_, case, func, literal, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import InstrumentedAttribute, Session

from scorer.db.data_release.releases import stream_rows
from scorer.db.leaderboard.scores import judged_entries
from scorer.db.tables import (
    Label,
    Measurement,
    PickSet,
    Rater,
    Rating,
    RatingItem,
    RatingStudy,
    Ruling,
    ShownMeasurement,
    ShownTrack,
    Submission,
    Team,
    Track,
)
from scorer.db.teams import merges


class SubmissionRow(NamedTuple):
    """An entry with the team that it belongs to now, and its decided label and newest ruling; None without one."""

    ref: int
    team_id: int
    benchmark: bool
    status: str
    late: bool
    accepted_at: datetime
    bytes: int
    pixels_sha256: str | None
    exact_copies: int | None
    mirrored_copies: int | None
    copied_share: float | None
    picked: bool
    label: str | None
    ruling: str | None


class MeasurementRow(NamedTuple):
    """A measurement. ``counts``: it is the newest of its entry and track, and has ``tau`` to ``mifid``."""

    submission_ref: int
    track: str
    extractor: str
    scorer_version: str
    counts: bool
    fid: float
    memorization_distance: float
    distance_se: float | None
    tau: float | None
    copy: bool | None
    penalised: bool | None
    mifid: float | None
    """nan for a copy and without a threshold."""
    histogram: dict[str, Any]
    provenance: dict[str, Any]
    created_at: datetime


class ShownMeasurementRow(NamedTuple):
    """A measurement on a shown track. ``counts``: it is the newest of its entry there."""

    submission_ref: int
    name: str
    metric: str
    constants: dict[str, Any]
    extractor: str
    reference: str
    scorer_version: str
    counts: bool
    value: float | None
    standard_error: float | None
    provenance: dict[str, Any]
    created_at: datetime


class RatingRow(NamedTuple):
    """A human rating with its item and rater."""

    study_id: int
    kind: str
    item_id: int
    submission_ref: int
    images: list[int]
    rater_id: int
    rater_kind: Literal["member", "invited"]
    value: int
    created_at: datetime


def submissions(session: Session, competition_id: int) -> Iterator[SubmissionRow]:
    """Every entry, oldest first."""
    merged = merges.newest_merges()
    label = _newest(Label, Label.label).subquery("label")
    ruling = _newest(Ruling, Ruling.kind).subquery("ruling")
    picks = (
        select(PickSet.team_id, PickSet.submission_refs)
        .ext(distinct_on(PickSet.team_id))
        .order_by(PickSet.team_id, PickSet.id.desc())
        .subquery("picks")
    )
    query = (
        select(
            Submission.ref,
            Team.id,
            Team.benchmark,
            Submission.status,
            Submission.late,
            Submission.accepted_at,
            Submission.bytes,
            Submission.pixels_sha256,
            Submission.exact_copies,
            Submission.mirrored_copies,
            Submission.copied_share,
            func.coalesce(Submission.ref == any_(picks.c.submission_refs), literal(False)),
            label.c.label,
            ruling.c.kind,
        )
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .outerjoin(label, label.c.submission_ref == Submission.ref)
        .outerjoin(ruling, ruling.c.submission_ref == Submission.ref)
        .outerjoin(picks, picks.c.team_id == Team.id)
        .where(Submission.competition_id == competition_id)
    )
    return stream_rows(session, query.order_by(Submission.ref), SubmissionRow)


def _newest(table: type[Label | Ruling], column: InstrumentedAttribute[str]) -> Select[int, str]:
    """A column of each submission's newest row in an append-only table."""
    newest = select(table.submission_ref, column).ext(distinct_on(table.submission_ref))
    return newest.order_by(table.submission_ref, table.id.desc())


def measurements(session: Session, competition_id: int) -> Iterator[MeasurementRow]:
    """Every measurement, in the order of entries, public before private."""
    scores = judged_entries().subquery("scores")
    query = (
        select(
            Measurement.submission_ref,
            Track.kind,
            Track.extractor,
            Measurement.scorer_version,
            scores.c.measurement_id.is_not(None),
            Measurement.fid,
            Measurement.memorization_distance,
            Measurement.distance_se,
            scores.c.tau,
            scores.c.copy,
            scores.c.penalised,
            scores.c.mifid,
            Measurement.histogram,
            Measurement.provenance,
            Measurement.created_at,
        )
        .join(Track, Track.id == Measurement.track_id)
        .outerjoin(scores, scores.c.measurement_id == Measurement.id)
        .where(Track.competition_id == competition_id)
    )
    in_order = query.order_by(Measurement.submission_ref, Track.kind.desc(), Measurement.id)
    return stream_rows(session, in_order, MeasurementRow)


def shown_measurements(session: Session, competition_id: int) -> Iterator[ShownMeasurementRow]:
    """Every measurement on the shown tracks of a competition but those that were removed, in the order of entries."""
    newest = func.max(ShownMeasurement.id).over(
        partition_by=(ShownMeasurement.submission_ref, ShownMeasurement.shown_track_id)
    )
    query = (
        select(
            ShownMeasurement.submission_ref,
            ShownTrack.name,
            ShownTrack.metric,
            ShownTrack.constants,
            ShownTrack.extractor,
            ShownTrack.reference,
            ShownMeasurement.scorer_version,
            ShownMeasurement.id == newest,
            ShownMeasurement.value,
            ShownMeasurement.standard_error,
            ShownMeasurement.provenance,
            ShownMeasurement.created_at,
        )
        .join(ShownTrack, ShownTrack.id == ShownMeasurement.shown_track_id)
        .where(ShownTrack.competition_id == competition_id, ShownTrack.removed_at.is_(None))
    )
    in_order = query.order_by(ShownMeasurement.submission_ref, ShownTrack.id, ShownMeasurement.id)
    return stream_rows(session, in_order, ShownMeasurementRow)


def ratings(session: Session, competition_id: int) -> Iterator[RatingRow]:
    """Every human rating, in the order of studies and items."""
    query = (
        select(
            RatingItem.study_id,
            RatingItem.kind,
            RatingItem.id,
            RatingItem.submission_ref,
            RatingItem.images,
            Rating.rater_id,
            case((Rater.account_id.is_(None), "invited"), else_="member"),
            Rating.value,
            Rating.created_at,
        )
        .join(RatingItem, RatingItem.id == Rating.item_id)
        .join(Rater, Rater.id == Rating.rater_id)
        .join(RatingStudy, RatingStudy.id == RatingItem.study_id)
        .where(RatingStudy.competition_id == competition_id)
    )
    return stream_rows(session, query.order_by(RatingItem.study_id, RatingItem.id, Rating.id), RatingRow)
