"""SQL for the rows of a data release: entries, their measurements, evidence, labels, rulings and human ratings.

Also the thresholds with which they were judged.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, any_, case, exists, func, literal, null, select, union_all
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from scorer.db.leaderboard.scores import NAN, judged_entries
from scorer.db.submissions.labels import newest_rows
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

PROVENANCE = ("weights_sha256", "reference", "device", "precision")
"""The parts of a measurement's provenance that are in a release."""
BATCH_ROWS = 5_000
"""How many rows are fetched at a time."""
Row = Mapping[Any, Any]
"""Values by the release table's column names, and further inputs. Pseudonyms are not computed yet: these are ids."""


def _stream(session: Session, query: Select[*tuple[Any, ...]]) -> Iterator[Row]:
    """The rows of a query, with one batch in memory at a time, because a release may have a million entries."""
    yield from session.execute(query, execution_options={"yield_per": BATCH_ROWS}).mappings()


def submissions(session: Session, competition_id: int) -> Iterator[Row]:
    merged = merges.newest_merges()
    label = newest_rows(competition_id, Label, Label.label).subquery("label")
    ruling = newest_rows(competition_id, Ruling, Ruling.kind).subquery("ruling")
    picks = (
        select(PickSet.team_id, PickSet.submission_refs)
        .ext(distinct_on(PickSet.team_id))
        .order_by(PickSet.team_id, PickSet.id.desc())
        .subquery("picks")
    )
    query = (
        select(
            Submission.ref.label("submission"),
            Team.id.label("team"),
            Team.benchmark,
            Submission.status,
            Submission.late,
            Submission.accepted_at,
            Submission.bytes,
            Submission.pixels_sha256.label("images"),
            Submission.exact_copies,
            Submission.mirrored_copies,
            Submission.copied_share,
            func.coalesce(Submission.ref == any_(picks.c.submission_refs), literal(False)).label("picked"),
            label.c.label,
            ruling.c.kind.label("ruling"),
        )
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .outerjoin(label, label.c.submission_ref == Submission.ref)
        .outerjoin(ruling, ruling.c.submission_ref == Submission.ref)
        .outerjoin(picks, picks.c.team_id == Team.id)
        .where(Submission.competition_id == competition_id)
    )
    return _stream(session, query.order_by(Submission.ref))


def measurements(session: Session, competition_id: int) -> Iterator[Row]:
    """Every measurement, sorted by entry, public before private."""
    scores = judged_entries().subquery("scores")
    query = (
        select(
            Measurement.submission_ref.label("submission"),
            Track.kind.label("track"),
            Track.extractor,
            Measurement.scorer_version,
            scores.c.measurement_id.is_not(None).label("counts"),
            Measurement.fid,
            Measurement.memorization_distance,
            Measurement.distance_se,
            Measurement.fid_spread,
            scores.c.tau,
            scores.c.copy,
            scores.c.penalised,
            func.nullif(scores.c.mifid, NAN).label("mifid"),
            *(Measurement.histogram[name].label(f"histogram_{name}") for name in ("low", "high", "counts")),
            *(Measurement.provenance[name].label(name) for name in PROVENANCE),
            Measurement.created_at.label("measured_at"),
        )
        .join(Track, Track.id == Measurement.track_id)
        .outerjoin(scores, scores.c.measurement_id == Measurement.id)
        .where(Track.competition_id == competition_id)
    )
    in_order = query.order_by(Measurement.submission_ref, Track.kind.desc(), Measurement.id)
    return _stream(session, in_order)


def shown_measurements(session: Session, competition_id: int) -> Iterator[Row]:
    """Every measurement on the shown tracks of a competition, sorted by entry. Excludes removed shown tracks."""
    newest = func.max(ShownMeasurement.id).over(
        partition_by=(ShownMeasurement.submission_ref, ShownMeasurement.shown_track_id)
    )
    query = (
        select(
            ShownMeasurement.submission_ref.label("submission"),
            ShownTrack.name,
            ShownTrack.metric,
            ShownTrack.constants,
            ShownTrack.extractor,
            ShownTrack.reference,
            ShownMeasurement.scorer_version,
            (ShownMeasurement.id == newest).label("counts"),
            ShownMeasurement.value,
            ShownMeasurement.standard_error,
            ShownMeasurement.provenance["weights_sha256"].label("weights_sha256"),
            ShownMeasurement.created_at.label("measured_at"),
        )
        .join(ShownTrack, ShownTrack.id == ShownMeasurement.shown_track_id)
        .where(ShownTrack.competition_id == competition_id, ShownTrack.removed_at.is_(None))
    )
    in_order = query.order_by(ShownMeasurement.submission_ref, ShownTrack.id, ShownMeasurement.id)
    return _stream(session, in_order)


def ratings(session: Session, competition_id: int) -> Iterator[Row]:
    query = (
        select(
            func.dense_rank().over(order_by=RatingItem.study_id).label("study"),
            RatingItem.kind,
            func.dense_rank().over(partition_by=RatingItem.study_id, order_by=RatingItem.id).label("item"),
            RatingItem.submission_ref.label("submission"),
            RatingItem.images.label("image_indexes"),
            Rating.rater_id.label("rater"),
            case((Rater.account_id.is_(None), "invited"), else_="member").label("rater_kind"),
            Rating.value,
            Rating.created_at.label("rated_at"),
        )
        .join(RatingItem, RatingItem.id == Rating.item_id)
        .join(Rater, Rater.id == Rating.rater_id)
        .join(RatingStudy, RatingStudy.id == RatingItem.study_id)
        .where(RatingStudy.competition_id == competition_id)
    )
    return _stream(session, query.order_by(RatingItem.study_id, RatingItem.id, Rating.id))


def evidence(session: Session, competition_id: int) -> Iterator[Row]:
    """All evidence, sorted by entry, public before private."""
    query = (
        select(
            Evidence.submission_ref.label("submission"),
            Track.kind.label("track"),
            _is_newest(Evidence, Evidence.submission_ref, Evidence.track_id).label("counts"),
            Evidence.findings,
            Evidence.details["cells"].label("cells"),
            Evidence.created_at.label("found_at"),
        )
        .join(Track, Track.id == Evidence.track_id)
        .where(Track.competition_id == competition_id)
    )
    return _stream(session, query.order_by(Evidence.submission_ref, Track.kind.desc(), Evidence.id))


def labels(session: Session, competition_id: int) -> Iterator[Row]:
    """Decided labels, reviews and early labels, sorted by entry."""
    decided = select(
        Label.submission_ref.label("submission"),
        literal("decided").label("source"),
        null().label("reviewer"),
        Label.label,
        null().label("intent"),
        _is_newest(Label, Label.submission_ref).label("counts"),
        Label.created_at.label("given_at"),
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
    return _stream(session, select(every).order_by(every.c.submission, every.c.source, every.c.id))


def thresholds(session: Session, competition_id: int) -> Iterator[Row]:
    """Every choice of tau, public before private, oldest first."""
    query = (
        select(
            Track.kind.label("track"),
            Threshold.tau,
            Threshold.method,
            Threshold.choice,
            _is_newest(Threshold, Threshold.track_id).label("counts"),
            Threshold.created_at.label("chosen_at"),
        )
        .join(Track, Track.id == Threshold.track_id)
        .where(Track.competition_id == competition_id)
    )
    return _stream(session, query.order_by(Track.kind.desc(), Threshold.id))


def rulings(session: Session, competition_id: int) -> Iterator[Row]:
    query = (
        select(
            Ruling.submission_ref.label("submission"),
            Ruling.kind.label("ruling"),
            Ruling.memorising,
            _is_newest(Ruling, Ruling.submission_ref).label("counts"),
            Rebuttal.id.is_not(None).label("appealed"),
            RebuttalAnswer.granted,
            Ruling.created_at.label("ruled_at"),
        )
        .outerjoin(Rebuttal, Rebuttal.ruling_id == Ruling.id)
        .outerjoin(RebuttalAnswer, RebuttalAnswer.rebuttal_id == Rebuttal.id)
        .where(_is_in_competition(competition_id, Ruling.submission_ref))
    )
    return _stream(session, query.order_by(Ruling.submission_ref, Ruling.id))


def _is_in_competition(competition_id: int, ref: InstrumentedAttribute[int]) -> ColumnElement[bool]:
    submission = aliased(Submission)
    return exists().where(submission.ref == ref, submission.competition_id == competition_id)


def _is_newest(
    table: type[Evidence | Label | Review | EarlyLabel | Threshold | Ruling], *columns: InstrumentedAttribute[int]
) -> ColumnElement[bool]:
    """Whether a row of an append-only table is the newest among rows with equal values in ``columns``."""
    later = aliased(table)
    equal = [getattr(later, column.key) == column for column in columns]
    return ~exists().where(*equal, later.id > table.id)
