"""SQL for human ratings: studies, raters, the next items for a rater, and the ratings."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import Text, cast, func, literal, select, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from scorer.db.session import count_changed
from scorer.db.tables import Rater, Rating, RatingItem, RatingStudy


class ListedRater(NamedTuple):
    """A rater with the number of their ratings. ``account_id`` is None for a rater invited by a link."""

    id: int
    account_id: int | None
    name: str
    ended_at: datetime | None
    ratings: int


class KindTotals(NamedTuple):
    kind: str
    items: int
    ratings: int


class RatedItem(NamedTuple):
    """A rated item: its entry, its kind, and the number of ratings (``given``), their sum and their sum of squares."""

    submission_ref: int
    kind: Literal["realism", "diversity"]
    given: int
    total: int
    squares: int


def lock_study(session: Session, study_id: int) -> None:
    """Let only one transaction at a time change a study."""
    session.execute(select(RatingStudy.id).where(RatingStudy.id == study_id).with_for_update(key_share=True))


def add_items(session: Session, items: Sequence[Mapping[str, Any]]) -> None:
    """Add items to rate. Their ids increase in this order."""
    if items:
        session.execute(insert(RatingItem), list(items))


def find_member_rater(session: Session, study_id: int, account_id: int, *, name: str, now: datetime) -> Rater:
    """The rater of an account in a study, added if there is none yet."""
    new_rater = insert(Rater).values(study_id=study_id, account_id=account_id, name=name, created_at=now)
    session.execute(new_rater.on_conflict_do_nothing())
    query = select(Rater).where(Rater.study_id == study_id, Rater.account_id == account_id)
    return session.scalars(query).one()


def raters(session: Session, study_id: int) -> list[ListedRater]:
    query = (
        select(Rater.id, Rater.account_id, Rater.name, Rater.ended_at, func.count(Rating.id))
        .outerjoin(Rating, Rating.rater_id == Rater.id)
        .where(Rater.study_id == study_id)
        .group_by(Rater.id)
    )
    return [ListedRater(*row) for row in session.execute(query.order_by(Rater.id))]


def next_items(
    session: Session, rater: Rater, kind: str, *, wanted: int, exclude: Collection[int], limit: int
) -> Sequence[RatingItem]:
    """The next items for a rater: items that this rater has not rated and that have fewer than ``wanted`` ratings.
    Items with the fewest ratings come first; the order of ties differs between raters."""
    # Counted per item, using the index, so the plan does not depend on how old the planner's statistics are.
    counted = select(func.count().label("given")).where(Rating.item_id == RatingItem.id).lateral("counted")
    rated = select(Rating.id).where(Rating.item_id == RatingItem.id, Rating.rater_id == rater.id).exists()
    shuffled = func.md5(cast(RatingItem.id, Text) + literal(f"/{rater.id}"))
    query = (
        select(RatingItem)
        .join(counted, true())
        .where(RatingItem.study_id == rater.study_id, RatingItem.kind == kind)
        .where(counted.c.given < wanted, ~rated, RatingItem.id.not_in(exclude))
    )
    return session.scalars(query.order_by(counted.c.given, shuffled).limit(limit)).all()


def known_items(session: Session, study_id: int, item_ids: Collection[int]) -> set[int]:
    query = select(RatingItem.id).where(RatingItem.study_id == study_id, RatingItem.id.in_(item_ids))
    return set(session.scalars(query))


def add_ratings(session: Session, rater_id: int, values: Mapping[int, int], *, now: datetime) -> int:
    """Add one rater's ratings by item, in one statement. Earlier ratings stay. Returns how many are new."""
    rows = [
        {"rater_id": rater_id, "item_id": item_id, "value": value, "created_at": now}
        for item_id, value in values.items()
    ]
    return count_changed(session, insert(Rating).values(rows).on_conflict_do_nothing())


def count_ratings_by_kind(session: Session, rater_id: int) -> dict[str, int]:
    query = select(RatingItem.kind, func.count()).join(Rating, Rating.item_id == RatingItem.id)
    return {row[0]: row[1] for row in session.execute(query.where(Rating.rater_id == rater_id).group_by("kind"))}


def totals(session: Session, study_id: int) -> list[KindTotals]:
    query = (
        select(RatingItem.kind, func.count(RatingItem.id.distinct()), func.count(Rating.id))
        .outerjoin(Rating, Rating.item_id == RatingItem.id)
        .where(RatingItem.study_id == study_id)
    )
    rows = session.execute(query.group_by(RatingItem.kind).order_by(RatingItem.kind.desc()))
    return [KindTotals(*row) for row in rows]


def rating_sums(session: Session, study_id: int) -> list[RatedItem]:
    query: Any = (
        select(
            RatingItem.submission_ref,
            RatingItem.kind,
            func.count(),
            func.sum(Rating.value),
            func.sum(Rating.value * Rating.value),
        )
        .join(Rating, Rating.item_id == RatingItem.id)
        .where(RatingItem.study_id == study_id)
        .group_by(RatingItem.id)
    )
    return [RatedItem(*row) for row in session.execute(query.order_by(RatingItem.id))]
