"""SQL for the rows of a data release on what entries were judged by: evidence, labels, thresholds and rulings.

``counts`` says of each row whether it is the newest of its kind, the one that counts.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, exists, literal, null, select, union_all
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from scorer.db.data_release.releases import stream_rows
from scorer.db.tables import (
    EarlyLabel,
    Evidence,
    Label,
    Rebuttal,
    RebuttalAnswer,
    Review,
    Ruling,
    Submission,
    Threshold,
    Track,
)


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
