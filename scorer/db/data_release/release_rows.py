"""SQL for the rows of a data release: entries, their measurements and human ratings, and what they were judged by:
evidence, labels, thresholds and rulings.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Select, any_, case, exists, func, literal, null, select, union_all
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from scorer.db.data_release.releases import stream_rows
from scorer.db.leaderboard.scores import judged_entries
from scorer.db.tables import (
    EarlyLabel,
    Evidence,
    Label,
    Measurement,
    PickSet,
    Rater,
    Rating,
    RatingItem,
    RatingStudy,
    Rebuttal,
    RebuttalAnswer,
    Review,
    Ruling,
    ShownMeasurement,
    ShownTrack,
    Submission,
    Team,
    Threshold,
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


class EvidenceRow(NamedTuple):
    """The findings on an entry on a track, with the cells in which copying was counted."""

    submission_ref: int
    track: str
    counts: bool
    findings: list[dict[str, Any]]
    cells: list[dict[str, Any]] | None
    created_at: datetime


class LabelRow(NamedTuple):
    """A label of an entry; a review alone has a reviewer and an intent."""

    submission_ref: int
    source: Literal["decided", "review", "early"]
    reviewer_id: int | None
    label: str
    intent: str | None
    counts: bool
    created_at: datetime


class ThresholdRow(NamedTuple):
    """A choice of tau, and what its method found (``choice``)."""

    track: str
    tau: float
    method: str
    choice: dict[str, Any]
    counts: bool
    created_at: datetime


class RulingRow(NamedTuple):
    """A ruling; ``granted``: whether the appeal against it was, None without an appeal or its answer."""

    submission_ref: int
    kind: str
    memorising: bool | None
    counts: bool
    appealed: bool
    granted: bool | None
    created_at: datetime


def evidence(session: Session, competition_id: int) -> Iterator[EvidenceRow]:
    """All evidence, in the order of entries, public before private."""
    query = (
        select(
            Evidence.submission_ref,
            Track.kind,
            _is_newest(Evidence, Evidence.submission_ref, Evidence.track_id),
            Evidence.findings,
            Evidence.details["cells"],
            Evidence.created_at,
        )
        .join(Track, Track.id == Evidence.track_id)
        .where(Track.competition_id == competition_id)
    )
    return stream_rows(session, query.order_by(Evidence.submission_ref, Track.kind.desc(), Evidence.id), EvidenceRow)


def labels(session: Session, competition_id: int) -> Iterator[LabelRow]:
    """Decided labels, reviews and early labels, in the order of entries."""
    decided = select(
        Label.submission_ref,
        literal("decided").label("source"),
        null().label("reviewer_id"),
        Label.label,
        null().label("intent"),
        _is_newest(Label, Label.submission_ref).label("counts"),
        Label.created_at,
        Label.id,
    ).where(_is_in_competition(competition_id, Label.submission_ref))
    reviews = select(
        Review.submission_ref,
        literal("review"),
        Review.reviewer_id,
        Review.label,
        Review.intent,
        _is_newest(Review, Review.submission_ref, Review.reviewer_id),
        Review.created_at,
        Review.id,
    ).where(_is_in_competition(competition_id, Review.submission_ref))
    early = select(
        EarlyLabel.submission_ref,
        literal("early"),
        null(),
        EarlyLabel.label,
        null(),
        _is_newest(EarlyLabel, EarlyLabel.submission_ref),
        EarlyLabel.created_at,
        EarlyLabel.id,
    ).where(_is_in_competition(competition_id, EarlyLabel.submission_ref))
    every = union_all(decided, reviews, early).subquery("every")
    query = select(*(every.c[name] for name in LabelRow._fields))
    return stream_rows(session, query.order_by(every.c.submission_ref, every.c.source, every.c.id), LabelRow)


def thresholds(session: Session, competition_id: int) -> Iterator[ThresholdRow]:
    """Every choice of tau, public before private, oldest first."""
    query = (
        select(
            Track.kind,
            Threshold.tau,
            Threshold.method,
            Threshold.choice,
            _is_newest(Threshold, Threshold.track_id),
            Threshold.created_at,
        )
        .join(Track, Track.id == Threshold.track_id)
        .where(Track.competition_id == competition_id)
    )
    return stream_rows(session, query.order_by(Track.kind.desc(), Threshold.id), ThresholdRow)


def rulings(session: Session, competition_id: int) -> Iterator[RulingRow]:
    """Every ruling in the order of entries, oldest first."""
    query = (
        select(
            Ruling.submission_ref,
            Ruling.kind,
            Ruling.memorising,
            _is_newest(Ruling, Ruling.submission_ref),
            Rebuttal.id.is_not(None),
            RebuttalAnswer.granted,
            Ruling.created_at,
        )
        .outerjoin(Rebuttal, Rebuttal.ruling_id == Ruling.id)
        .outerjoin(RebuttalAnswer, RebuttalAnswer.rebuttal_id == Rebuttal.id)
        .where(_is_in_competition(competition_id, Ruling.submission_ref))
    )
    return stream_rows(session, query.order_by(Ruling.submission_ref, Ruling.id), RulingRow)


def _is_in_competition(competition_id: int, ref: InstrumentedAttribute[int]) -> ColumnElement[bool]:
    submission = aliased(Submission)
    return exists().where(submission.ref == ref, submission.competition_id == competition_id)


def _is_newest(
    table: type[Evidence | Label | Review | EarlyLabel | Threshold | Ruling], *columns: InstrumentedAttribute[int]
) -> ColumnElement[bool]:
    """Whether a row of an append-only table is the newest of those with equal values in ``columns``."""
    later = aliased(table)
    equal = [getattr(later, column.key) == column for column in columns]
    return ~exists().where(*equal, later.id > table.id)
