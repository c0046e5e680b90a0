"""The entries that a board is made of, in SQL: all on the public track, final picks on the private one.

Putting a statement together takes longer than most boards take to be read, so statements are kept.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Subquery, and_, any_, func, literal_column, or_, select, tuple_
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import aliased

from scorer.db.judging import judged, rounded
from scorer.db.tables import Competition, PickSet, Track

kept = lru_cache(maxsize=64)

INFINITY: ColumnElement[float] = literal_column("'Infinity'::double precision")


@kept
def field(
    track_id: int, *, decimals: int, tau: float | None = None, late: bool = False, at: datetime | None = None
) -> Subquery:
    """The entries that a board is made of, with their ``score``: on the public track all, on the private one final
    picks (:func:`finals`), benchmarks, and of teams without picks what is listed apart."""
    scores = judged(track_id=track_id, tau=tau, at=at).subquery("scores")
    query = select(scores, rounded(scores.c.mifid, decimals).label("score")).where(scores.c.late == late)
    if not late:
        query = query.where(or_(_is_public(track_id), scores.c.benchmark, _is_final(scores, track_id, decimals, at)))
    return query.subquery("field")


def _is_public(track_id: int) -> ColumnElement[bool]:
    return select(Track.kind).where(Track.id == track_id).scalar_subquery() == "public"


def _is_final(scores: Subquery, track_id: int, decimals: int, at: datetime | None) -> ColumnElement[bool]:
    final = finals(track_id, decimals=decimals, at=at).cte("final")
    without = scores.c.team_id.not_in(select(final.c.team_id))
    return or_(
        tuple_(scores.c.team_id, scores.c.ref).in_(select(final.c.team_id, final.c.ref)),
        and_(or_(scores.c.copy, scores.c.disqualified), without),
    )


@kept
def finals(track_id: int, *, decimals: int, at: datetime | None = None) -> Select[Any]:
    """What the teams are ranked by in the end (:func:`scorer.ranking.finals`), for either track of a competition:
    ``team_id``, ``ref``."""
    asked, public = aliased(Track), aliased(Track)
    here = select(public.id).join(asked, asked.competition_id == public.competition_id)
    public_id = here.where(asked.id == track_id, public.kind == "public").scalar_subquery()
    entry = judged(track_id=public_id, at=at).subquery("public_entry")
    order = (rounded(entry.c.mifid, decimals), entry.c.accepted_at, entry.c.ref)
    nth = func.row_number().over(partition_by=entry.c.team_id, order_by=order)
    placed = select(entry.c.team_id, entry.c.ref, entry.c.competition_id, entry.c.mifid, nth.label("nth"))
    best = placed.where(~entry.c.benchmark, ~entry.c.late).subquery("best")
    sets = newest_sets(at)
    most = select(Competition.final_picks).where(Competition.id == best.c.competition_id).scalar_subquery()
    default = and_(sets.c.team_id.is_(None), best.c.mifid < INFINITY, best.c.nth <= most)
    return (
        select(best.c.team_id, best.c.ref)
        .outerjoin(sets, sets.c.team_id == best.c.team_id)
        .where(or_(default, best.c.ref == any_(sets.c.submission_refs)))
    )


def newest_sets(at: datetime | None = None) -> Subquery:
    """The picks of every team that picks something: ``team_id``, ``submission_refs``."""
    newest = select(PickSet.team_id, PickSet.submission_refs).ext(distinct_on(PickSet.team_id))
    if at is not None:
        newest = newest.where(PickSet.created_at <= at)
    sets = newest.order_by(PickSet.team_id, PickSet.id.desc()).subquery("sets")
    return select(sets).where(func.cardinality(sets.c.submission_refs) > 0).subquery("chosen_sets")
