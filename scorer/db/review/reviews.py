"""SQL for reviews and labels. Each reviewer's newest review counts, and a decided label ends an entry's review."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db import rescoring
from scorer.db.review.rulings import is_ruled_knowing
from scorer.db.submissions.labels import newest_rows
from scorer.db.tables import Label, Measurement, Review, Submission


def newest_reviews(session: Session, submission_ref: int) -> list[Review]:
    """The newest review of each reviewer of an entry, in the order of their first reviews."""
    query = select(Review).where(Review.submission_ref == submission_ref).order_by(Review.id)
    newest: dict[int, Review] = {}
    for review in session.scalars(query):
        newest[review.reviewer_id] = review  # a dict keeps the position of a key's first insertion
    return list(newest.values())


def review_counts(competition_id: int, reviewer_id: int, memorising: Collection[str]) -> Select[Any]:
    """Every reviewed or labelled entry: ``ref``, ``reviews`` (number of reviewers), ``mine`` (whether this reviewer is
    one).

    Also ``label`` (the decided one, or null) and ``unruled`` (whether the label is among ``memorising`` and nobody has
    ruled since).
    """
    refs = select(Submission.ref).where(Submission.competition_id == competition_id)
    reviews = (
        select(
            Review.submission_ref,
            func.count(Review.reviewer_id.distinct()).label("reviews"),
            func.bool_or(Review.reviewer_id == reviewer_id).label("mine"),
        )
        .where(Review.submission_ref.in_(refs))
        .group_by(Review.submission_ref)
        .subquery("given")
    )
    decided = newest_rows(competition_id, Label, Label.label, Label.created_at).subquery("decided")
    ruled = is_ruled_knowing(decided.c.submission_ref, decided.c.created_at)
    return select(
        func.coalesce(reviews.c.submission_ref, decided.c.submission_ref).label("ref"),
        func.coalesce(reviews.c.reviews, 0).label("reviews"),
        func.coalesce(reviews.c.mine, False).label("mine"),
        decided.c.label,
        func.coalesce(decided.c.label.in_(memorising) & ~ruled, False).label("unruled"),
    ).select_from(reviews.outerjoin(decided, decided.c.submission_ref == reviews.c.submission_ref, full=True))


def label_pairs(session: Session, competition_id: int) -> list[tuple[str, str]]:
    """Pairs of labels that two reviewers gave the same entry, the earlier reviewer's first, sorted by entry."""
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
    first, second = aliased(newest), aliased(newest)
    same_entry = (first.c.submission_ref == second.c.submission_ref) & (first.c.since < second.c.since)
    query = select(first.c.label, second.c.label).join(second, same_entry).order_by(first.c.submission_ref)
    return [(earlier, later) for earlier, later in session.execute(query)]


def labelled_distances(
    session: Session, competition_id: int, track_id: int, *, exclude: int
) -> list[tuple[str, float]]:
    """Label and distance of every entry with a decided label, except the entry with ref ``exclude``."""
    decided = newest_rows(competition_id, Label, Label.label, Label.created_at).subquery("decided")
    newest = (
        select(Measurement.memorization_distance.label("distance"))
        .where(Measurement.track_id == track_id, Measurement.submission_ref == decided.c.submission_ref)
        .where(rescoring.counts(Measurement.campaign_id))
        .order_by(Measurement.id.desc())
        .limit(1)
        .lateral("newest")
    )
    query = select(decided.c.label, newest.c.distance).where(decided.c.submission_ref != exclude)
    rows = session.execute(query.select_from(decided).join(newest, newest.c.distance.is_not(None)))
    return [(label, distance) for label, distance in rows]
