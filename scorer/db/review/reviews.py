"""What reviewers have said, in SQL: the newest review of each counts, and a decided label closes an entry."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import CoarseLabel, Label, Measurement, Review, Submission


def newest_reviews(session: Session, submission_ref: int) -> list[Review]:
    """The review that counts of everybody who has reviewed an entry, in the order of their first ones."""
    every = select(Review).where(Review.submission_ref == submission_ref).order_by(Review.id)
    newest: dict[int, Review] = {}
    for review in session.scalars(every):
        newest[review.reviewer_id] = review  # a key keeps its first place
    return list(newest.values())


def review_counts(competition_id: int, reviewer_id: int) -> Select[Any]:
    """Of every entry that somebody has reviewed or decided: ``ref``, ``reviews`` (by how many people), ``mine``
    (whether by this person), ``label`` (the decided one, if any)."""
    here = select(Submission.ref).where(Submission.competition_id == competition_id)
    given = (
        select(
            Review.submission_ref,
            func.count(Review.reviewer_id.distinct()).label("reviews"),
            func.bool_or(Review.reviewer_id == reviewer_id).label("mine"),
        )
        .where(Review.submission_ref.in_(here))
        .group_by(Review.submission_ref)
        .subquery("given")
    )
    decided = _decided(competition_id).subquery("decided")
    return select(
        func.coalesce(given.c.submission_ref, decided.c.submission_ref).label("ref"),
        func.coalesce(given.c.reviews, 0).label("reviews"),
        func.coalesce(given.c.mine, False).label("mine"),
        decided.c.label,
    ).select_from(given.outerjoin(decided, decided.c.submission_ref == given.c.submission_ref, full=True))


def _decided(competition_id: int) -> Select[int, str]:
    return (
        select(Label.submission_ref, Label.label)
        .ext(distinct_on(Label.submission_ref))
        .join(Submission, Submission.ref == Label.submission_ref)
        .where(Submission.competition_id == competition_id)
        .order_by(Label.submission_ref, Label.id.desc())
    )


def label_pairs(session: Session, competition_id: int) -> list[tuple[str, str]]:
    """The labels of the two who reviewed an entry, the earlier reviewer's first, of every entry that has two."""
    newest = (
        select(
            Review.submission_ref,
            Review.reviewer_id,
            Review.label,
            func.min(Review.id).over(partition_by=(Review.submission_ref, Review.reviewer_id)).label("since"),
        )
        .ext(distinct_on(Review.submission_ref, Review.reviewer_id))
        .join(Submission, Submission.ref == Review.submission_ref)
        .where(Submission.competition_id == competition_id)
        .order_by(Review.submission_ref, Review.reviewer_id, Review.id.desc())
        .subquery("newest")
    )
    one, other = aliased(newest), aliased(newest)
    both = (one.c.submission_ref == other.c.submission_ref) & (one.c.since < other.c.since)
    query = select(one.c.label, other.c.label).join(other, both).order_by(one.c.submission_ref)
    return [(first, second) for first, second in session.execute(query)]


def early_labels_of(session: Session, submission_ref: int) -> Sequence[CoarseLabel]:
    """The early guesses at an entry, newest first."""
    query = select(CoarseLabel).where(CoarseLabel.submission_ref == submission_ref)
    return session.scalars(query.order_by(CoarseLabel.id.desc())).all()


class LabelledDistance(NamedTuple):
    """The decided label of an entry and its memorization distance on a track."""

    ref: int
    label: str
    distance: float


def labelled_distances(session: Session, competition_id: int, track_id: int) -> list[LabelledDistance]:
    """Every entry with a decided label and a measurement on a track."""
    decided = _decided(competition_id).subquery("decided")
    newest = (
        select(Measurement.memorization_distance.label("distance"))
        .where(Measurement.track_id == track_id, Measurement.submission_ref == decided.c.submission_ref)
        .order_by(Measurement.id.desc())
        .limit(1)
        .lateral("newest")
    )
    query = select(decided.c.submission_ref.label("ref"), decided.c.label, newest.c.distance)
    rows = session.execute(query.select_from(decided).join(newest, newest.c.distance.is_not(None)))
    return [LabelledDistance(*row) for row in rows]
