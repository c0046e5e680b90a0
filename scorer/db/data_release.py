"""SQL for data releases: finding them, and reading everything that goes into one."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, any_, case, exists, func, literal, null, or_, select, union_all
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db.leaderboard.scores import judged_entries
from scorer.db.tables import (
    CoarseLabel,
    Evidence,
    Job,
    Label,
    Measurement,
    PickSet,
    Rater,
    Rating,
    RatingItem,
    RatingStudy,
    Rebuttal,
    RebuttalAnswer,
    Release,
    ReleaseAct,
    Review,
    Ruling,
    Submission,
    Team,
    Threshold,
    Track,
)
from scorer.db.teams import merges
from scorer.lifecycle import Status

BATCH_ROWS = 5_000
"""Rows fetched at a time, so that a release of a million entries needs little memory."""


def release_by_id(session: Session, release_id: str) -> Release | None:
    """A release by its id."""
    return session.get(Release, release_id)


def releases_of(session: Session, competition_id: int) -> Sequence[Release]:
    """The releases of a competition, newest first."""
    query = select(Release).where(Release.competition_id == competition_id)
    return session.scalars(query.order_by(Release.created_at.desc(), Release.id)).all()


def is_shown(session: Session, release_id: str) -> bool:
    """Whether a release is public: what its newest act says."""
    acts = select(ReleaseAct.shown).where(ReleaseAct.release_id == release_id)
    return bool(session.scalar(acts.order_by(ReleaseAct.id.desc()).limit(1)))


def newest_release_job(session: Session, release_id: str) -> Job | None:
    """The newest job that makes a release."""
    query = select(Job).where(Job.release_id == release_id).order_by(Job.id.desc()).limit(1)
    return session.scalars(query).one_or_none()


def _read(session: Session, query: Select[Any] | Any) -> Iterable[Any]:
    return session.execute(query, execution_options={"yield_per": BATCH_ROWS})


def _is_in_competition(competition_id: int, ref: Any) -> ColumnElement[bool]:
    submission = aliased(Submission)
    return exists().where(submission.ref == ref, submission.competition_id == competition_id)


def _is_newest(row: Any, *columns: Any) -> ColumnElement[bool]:
    """Whether a row of an append-only table is the newest of those with equal values in ``columns``."""
    later = aliased(row)
    equal = [getattr(later, column.key) == column for column in columns]
    return ~exists().where(*equal, later.id > row.id)


def submissions(session: Session, competition_id: int) -> Iterable[Any]:
    """Every entry, oldest first, with the team that it belongs to now."""
    merged = merges.newest_merges()
    team = Team
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
            team.id.label("team_id"),
            team.benchmark,
            Submission.status,
            Submission.late,
            Submission.accepted_at,
            Submission.bytes,
            Submission.pixels_sha256,
            Submission.exact_copies,
            Submission.mirrored_copies,
            Submission.copied_share,
            func.coalesce(Submission.ref == any_(picks.c.submission_refs), literal(False)).label("picked"),
            label.c.label,
            ruling.c.kind.label("ruling"),
        )
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(team, team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .outerjoin(label, label.c.submission_ref == Submission.ref)
        .outerjoin(ruling, ruling.c.submission_ref == Submission.ref)
        .outerjoin(picks, picks.c.team_id == team.id)
        .where(Submission.competition_id == competition_id)
    )
    return _read(session, query.order_by(Submission.ref))


def _newest(row: Any, column: Any) -> Select[Any]:
    newest = select(row.submission_ref, column).ext(distinct_on(row.submission_ref))
    return newest.order_by(row.submission_ref, row.id.desc())


def measurements(session: Session, competition_id: int) -> Iterable[Any]:
    """Every measurement, in the order of entries, public before private; the newest ones (``counts``) with scores."""
    scores = judged_entries().subquery("scores")
    query = (
        select(
            Measurement.submission_ref,
            Track.kind.label("track"),
            Track.extractor,
            Measurement.scorer_version,
            scores.c.measurement_id.is_not(None).label("counts"),
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
    return _read(session, query.order_by(Measurement.submission_ref, Track.kind.desc(), Measurement.id))


def evidence(session: Session, competition_id: int) -> Iterable[Any]:
    """All evidence, in the order of entries, public before private."""
    query = (
        select(
            Evidence.submission_ref,
            Track.kind.label("track"),
            _is_newest(Evidence, Evidence.submission_ref, Evidence.track_id).label("counts"),
            Evidence.findings,
            Evidence.details["cells"].label("cells"),
            Evidence.created_at,
        )
        .join(Track, Track.id == Evidence.track_id)
        .where(Track.competition_id == competition_id)
    )
    return _read(session, query.order_by(Evidence.submission_ref, Track.kind.desc(), Evidence.id))


def labels(session: Session, competition_id: int) -> Iterable[Any]:
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
    coarse = select(
        CoarseLabel.submission_ref,
        literal("coarse"),
        null(),
        CoarseLabel.label,
        null(),
        _is_newest(CoarseLabel, CoarseLabel.submission_ref),
        CoarseLabel.created_at,
        CoarseLabel.id,
    ).where(_is_in_competition(competition_id, CoarseLabel.submission_ref))
    every = union_all(decided, reviews, coarse).subquery("every")
    return _read(session, select(every).order_by(every.c.submission_ref, every.c.source, every.c.id))


def thresholds(session: Session, competition_id: int) -> Iterable[Any]:
    """Every choice of tau, public before private, oldest first."""
    query = (
        select(
            Track.kind.label("track"),
            Threshold.tau,
            Threshold.method,
            Threshold.choice,
            _is_newest(Threshold, Threshold.track_id).label("counts"),
            Threshold.created_at,
        )
        .join(Track, Track.id == Threshold.track_id)
        .where(Track.competition_id == competition_id)
    )
    return _read(session, query.order_by(Track.kind.desc(), Threshold.id))


def rulings(session: Session, competition_id: int) -> Iterable[Any]:
    """Every ruling in the order of entries, oldest first, with whether a rebuttal against it was granted."""
    query = (
        select(
            Ruling.submission_ref,
            Ruling.kind,
            Ruling.memorising,
            _is_newest(Ruling, Ruling.submission_ref).label("counts"),
            Rebuttal.id.is_not(None).label("appealed"),
            RebuttalAnswer.granted,
            Ruling.created_at,
        )
        .outerjoin(Rebuttal, Rebuttal.ruling_id == Ruling.id)
        .outerjoin(RebuttalAnswer, RebuttalAnswer.rebuttal_id == Rebuttal.id)
        .where(_is_in_competition(competition_id, Ruling.submission_ref))
    )
    return _read(session, query.order_by(Ruling.submission_ref, Ruling.id))


def ratings(session: Session, competition_id: int) -> Iterable[Any]:
    """Every human rating, in the order of studies and items."""
    query = (
        select(
            RatingItem.study_id,
            RatingItem.kind,
            RatingItem.id.label("item_id"),
            RatingItem.submission_ref,
            RatingItem.images,
            Rating.rater_id,
            case((Rater.account_id.is_(None), "invited"), else_="member").label("rater_kind"),
            Rating.value,
            Rating.created_at,
        )
        .join(RatingItem, RatingItem.id == Rating.item_id)
        .join(Rater, Rater.id == Rating.rater_id)
        .join(RatingStudy, RatingStudy.id == RatingItem.study_id)
        .where(RatingStudy.competition_id == competition_id)
    )
    return _read(session, query.order_by(RatingItem.study_id, RatingItem.id, Rating.id))


def entries_with_images(session: Session, competition_id: int, refs: Sequence[int] | None) -> Sequence[Submission]:
    """Scored entries (of ``refs``, if given), oldest first; their zips may still be in the blob store."""
    scored = and_(Submission.competition_id == competition_id, Submission.status == Status.SCORED)
    query = select(Submission).where(scored, or_(literal(refs is None), Submission.ref.in_(refs or [])))
    return session.scalars(query.order_by(Submission.ref)).all()
