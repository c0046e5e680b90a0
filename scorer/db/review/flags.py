"""SQL for flags: the entries that need review, and why. Computed on every read, so a new tau changes flags immediately.

The facts about an entry come from layers, one selection each (tracks, winners, other teams' zips, reviews). They are
stacked (UNION ALL) and grouped by entry, not joined. PostgreSQL estimates a judged board as a few rows, so it would
join 100,000 of them with 100,000 others in nested loops. Names and weights of reasons are in
:mod:`scorer.review.review_queue`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    CursorResult,
    Double,
    Integer,
    Select,
    Text,
    and_,
    any_,
    bindparam,
    case,
    column,
    false,
    func,
    literal,
    null,
    or_,
    select,
    true,
    union,
    union_all,
)
from sqlalchemy.engine import Compiled
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeEngine

from scorer.db.evidence.evidence import with_signs
from scorer.db.evidence.generators import refs_with_overfitted_generator
from scorer.db.evidence.shared_images import refs_sharing_images
from scorer.db.leaderboard.binary_copy import compiled
from scorer.db.leaderboard.scores import INFINITY, id_list, judged_entries
from scorer.db.review.flag_query import (
    BORDERLINE_STANDARD_ERRORS,
    STRONG_SIGNS,
    BoundsShape,
    FlaggedRow,
    FlagQuery,
    FlagShape,
    QueueState,
)
from scorer.db.review.reviews import review_counts
from scorer.db.tables import Submission, Team
from scorer.db.teams import merges
from scorer.findings.signs import SIGNS
from scorer.lifecycle import TRACK_KINDS, TrackKind

TRACK_MARKS = ("seen", "copy", "penalised", "stake", "borderline", "interval")
MARKS = tuple(
    [f"{kind}_{mark}" for kind in TRACK_KINDS for mark in TRACK_MARKS]
    + [f"{kind}_{sign.name}" for kind in TRACK_KINDS for sign in SIGNS]
    + ["late", "copied", "same_zip", "same_images", "shares_images", "remembers", "mine", "unruled"]
)
"""Boolean facts about an entry, each as a bit of one integer. PostgreSQL aggregates 300,000 integers much faster than
twenty booleans each."""
NUMBER_TYPES: Mapping[str, TypeEngine[Any]] = {
    **{f"{kind}_{name}": Double() for kind in TRACK_KINDS for name in ("distance", "se")},
    **{f"{kind}_rank": BigInteger() for kind in TRACK_KINDS},
    "team_id": BigInteger(),
    "pixels": BigInteger(),
    "reviews": BigInteger(),
    "label": Text(),
}
"""The other facts about an entry. Each comes from one layer and is NULL in all others."""


def _layer(ref: Any, marks: Mapping[str, Any], **numbers: Any) -> Select[Any]:
    """A selection of the stack: the entry, its marks as bits, and its numbers (NULL if the layer has none)."""
    mask: ColumnElement[int] = literal(0, BigInteger())
    for name, holds in marks.items():
        mask = mask + case((holds, literal(1 << MARKS.index(name), BigInteger())), else_=0)
    columns = [numbers.get(name, null().cast(type_)).label(name) for name, type_ in NUMBER_TYPES.items()]
    return select(ref.label("ref"), mask.label("marks"), *columns)


def _number(name: str) -> Any:
    """The parameter for a number of :attr:`FlagQuery.values`."""
    is_measured = name.endswith(("tau", "low", "high", "last_score"))
    return bindparam(name, None, type_=Double() if is_measured else BigInteger())


def _includes(shape: FlagShape, ref: Any) -> ColumnElement[bool]:
    return ref == any_(id_list("only")) if shape.only else true()


def _tracks(shape: FlagShape) -> Iterator[Select[Any]]:
    for kind, bounds in shape.bounds:
        only = "only" if shape.only else None
        scores = judged_entries(track_id=_number(f"{kind}_track"), refs=only).subquery(f"{kind}_scores").c
        penalised = and_(~scores.copy, scores.penalised)
        distance, error = scores.memorization_distance, scores.distance_se
        marks = {
            "seen": true(),
            "copy": scores.copy,
            "penalised": penalised,
            "stake": and_(penalised, ~scores.disqualified, _would_win(scores.fid, kind, bounds)),
            "borderline": and_(~scores.copy, func.abs(distance - scores.tau) <= BORDERLINE_STANDARD_ERRORS * error),
            "interval": and_(~scores.copy, _between(distance, kind, bounds)),
        }
        numbers = {f"{kind}_distance": distance, f"{kind}_se": error}
        if kind == TRACK_KINDS[0]:
            numbers["team_id"] = scores.team_id
        yield _layer(scores.ref, {f"{kind}_{name}": mark for name, mark in marks.items()}, **numbers).where(
            ~scores.benchmark, _includes(shape, scores.ref)
        )
        if bounds.winners:
            # Arrays instead of VALUES, because the text of VALUES depends on the number of rows.
            names = column("ref", BigInteger), column("rank", BigInteger)
            arrays = id_list(f"{kind}_winners"), id_list(f"{kind}_ranks")
            unnested = func.unnest(*arrays).table_valued(*names, name=f"{kind}_winners")
            won = unnested.render_derived().c
            yield _layer(won.ref, {}, **{f"{kind}_rank": won.rank}).where(_includes(shape, won.ref))


def _would_win(score: ColumnElement[float], kind: str, bounds: BoundsShape) -> ColumnElement[bool]:
    if bounds.last_score == "none":
        return false()
    return score < (INFINITY if bounds.last_score == "infinite" else _number(f"{kind}_last_score"))


def _between(distance: ColumnElement[float], kind: str, bounds: BoundsShape) -> ColumnElement[bool]:
    if not bounds.low:
        return false()
    above = distance > _number(f"{kind}_low")
    return and_(above, distance < _number(f"{kind}_high")) if bounds.high else above


def _shared_contents(shape: FlagShape) -> Select[Any]:
    """The layer of zip contents shared with other teams and with the training images."""
    team, merged = merges.team_now(Submission.team_id)

    def shared(column: Any) -> ColumnElement[bool]:
        content = func.hashtextextended(column, 0)  # numbers sort faster than text
        first, last = (bound(team).over(partition_by=content) for bound in (func.min, func.max))
        return and_(column.is_not(None), first != last)

    marks = {
        "late": Submission.late,
        "copied": func.coalesce(Submission.copied_share, 0.0) > 0.0,
        "same_zip": shared(Submission.sha256),
        "same_images": shared(Submission.pixels_sha256),
    }
    return (
        _layer(Submission.ref, marks, pixels=func.hashtextextended(Submission.pixels_sha256, 0))
        .select_from(Submission)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .where(Submission.competition_id == _number("competition"), _includes(shape, Submission.ref))
    )


def _signs(shape: FlagShape) -> Iterator[Select[Any]]:
    """The layers of signs of copying. Only entries with a sign are included, because others would only enlarge the
    stack."""
    for kind in TRACK_KINDS:
        signs = with_signs(_number(f"{kind}_track"), shape.images).subquery(f"{kind}_signs").c
        marks = {f"{kind}_{sign.name}": signs[sign.name] for sign in SIGNS}
        yield _layer(signs.ref, marks).where(_includes(shape, signs.ref))


def _sharing(shape: FlagShape) -> Select[Any]:
    sharing = refs_sharing_images(_number("competition")).subquery("sharing").c
    return _layer(sharing.ref, {"shares_images": true()}).where(_includes(shape, sharing.ref))


def _recovered(shape: FlagShape) -> Select[Any]:
    overfitted = refs_with_overfitted_generator(_number("competition")).subquery("remembering").c
    return _layer(overfitted.ref, {"remembers": true()}).where(_includes(shape, overfitted.ref))


def _reviewed(shape: FlagShape) -> Select[Any]:
    counts = review_counts(_number("competition"), _number("reviewer"), shape.memorising).subquery("tally").c
    layer = _layer(
        counts.ref, {"mine": counts.mine, "unruled": counts.unruled}, reviews=counts.reviews, label=counts.label
    )
    return layer.where(_includes(shape, counts.ref))


def _entries(shape: FlagShape) -> CTE:
    """One row per competing entry: every mark and number by name, and each track's tau."""
    of_both_tracks = (_shared_contents(shape), _sharing(shape), _recovered(shape), _reviewed(shape))
    layers = (*_tracks(shape), *_signs(shape), *of_both_tracks)
    stack = union_all(*layers).subquery("stack")
    grouped = (
        select(
            stack.c.ref,
            func.bit_or(stack.c.marks).label("marks"),
            *(func.max(stack.c[name]).label(name) for name in NUMBER_TYPES),
        )
        .group_by(stack.c.ref)
        .subquery("grouped")
    )

    def has(name: str) -> ColumnElement[bool]:
        return grouped.c.marks.op("&")(literal(1 << MARKS.index(name), BigInteger())) != 0

    taus: list[ColumnElement[Any]] = [
        (_number(f"{kind}_tau") if bounds.tau else null()).cast(Double()).label(f"{kind}_tau")
        for kind, bounds in shape.bounds
    ]
    numbers = [grouped.c[name] for name in NUMBER_TYPES if name != "reviews"]
    return (
        select(grouped.c.ref, *(has(name).label(name) for name in MARKS), *numbers, *taus)
        .add_columns(func.coalesce(grouped.c.reviews, 0).label("reviews"))
        .where(has("public_seen"), ~has("late"))
        .cte("entries")
    )


def _reasons(entries: CTE) -> dict[str, ColumnElement[bool]]:
    def either(name: str) -> ColumnElement[bool]:
        return or_(*(entries.c[f"{kind}_{name}"] for kind in TRACK_KINDS))

    unpenalised = [
        and_(entries.c[f"{kind}_rank"].is_not(None), ~entries.c[f"{kind}_penalised"]) for kind in TRACK_KINDS
    ]
    at_stake = [and_(entries.c[f"{kind}_stake"], entries.c[f"{kind}_rank"].is_(None)) for kind in TRACK_KINDS]
    reasons = {
        "medal-place": or_(*(entries.c[f"{kind}_rank"].is_not(None) for kind in TRACK_KINDS)),
        "medal-at-stake": or_(*at_stake),
        "borderline": either("borderline"),
        "tau-interval": either("interval"),
        "penalised": either("penalised"),
        "copying": and_(entries.c.copied, ~entries.c.public_copy),
        "copy": entries.c.public_copy,
        "same-zip": entries.c.same_zip,
        "shared-images": or_(entries.c.same_images, entries.c.shares_images),
        "recovered": entries.c.remembers,
        **{sign.name: either(sign.name) for sign in SIGNS},
    }
    has_strong_sign = or_(*(reasons[name] for name in sorted(STRONG_SIGNS)))
    return {"unpenalised-win": and_(or_(*unpenalised), has_strong_sign), **reasons}


def _flagged(shape: FlagShape) -> CTE:
    """The entries with at least one reason, with their reasons, weight and ``state``. One reason is that another
    flagged entry has the same images."""
    entries = _entries(shape)
    reasons = _reasons(entries)
    weights = dict(shape.weights)
    weight: ColumnElement[int] = literal(0, Integer())
    for name, reason in reasons.items():
        weight = weight + case((reason, weights[name]), else_=0)
    named = [reason.label(name) for name, reason in reasons.items()]
    weighed = select(entries, *named, weight.label("alone")).subquery("weighed")
    of_images = func.count().filter(weighed.c.alone > 0).over(partition_by=weighed.c.pixels)
    itself = case((weighed.c.alone > 0, 1), else_=0)
    has_duplicate = and_(weighed.c.pixels.is_not(None), ~weighed.c.same_images, of_images > itself)
    rows = select(weighed, has_duplicate.label("near-duplicate")).subquery("with_duplicates")
    total = rows.c.alone + case((rows.c["near-duplicate"], weights["near-duplicate"]), else_=0)
    state = _state(rows.c)
    return select(rows, total.label("weight"), state.label("state")).where(total > 0).cte("flagged")


def _state(entry: Any) -> ColumnElement[str]:
    return case(
        (entry.unruled, "unruled"),
        (entry.label.is_not(None), "decided"),
        (entry.reviews >= 2, "disputed"),
        (entry.mine, "waiting"),
        else_="open",
    )


class FlaggedPlace(NamedTuple):
    """A flagged entry in the order of the queue."""

    ref: int
    state: QueueState
    wins: Sequence[TrackKind]
    """The tracks where its rank wins something."""


def flagged_places(session: Session, flag_query: FlagQuery) -> list[FlaggedPlace]:
    """The flagged entries that the query considers: highest weight first, then best winning rank, then oldest."""
    rows = _execute(session, _places_statement(flag_query.shape), flag_query)
    return [
        FlaggedPlace(row.ref, row.state, [kind for kind in TRACK_KINDS if getattr(row, f"{kind}_rank") is not None])
        for row in rows
    ]


def flagged_rows(session: Session, flag_query: FlagQuery) -> list[FlaggedRow]:
    """The flagged entries that the query considers, in no particular order."""
    rows = _execute(session, _rows_statement(flag_query.shape), flag_query)
    return [FlaggedRow.of(row) for row in rows.mappings()]


def _execute(session: Session, statement: Compiled, flag_query: FlagQuery) -> CursorResult[Any]:
    session.flush()  # the statement runs without the session, so nothing else flushes it
    return session.connection().exec_driver_sql(str(statement), {**statement.params, **flag_query.values})


@lru_cache(maxsize=64)
def _places_statement(shape: FlagShape) -> Compiled:
    """The statement for queries of a shape. Compiling it takes longer than PostgreSQL takes for a page of the queue."""
    flagged = _flagged(shape).c
    ranks = [flagged[f"{kind}_rank"] for kind in TRACK_KINDS]
    order = flagged.weight.desc(), func.least(*ranks).nulls_last(), flagged.ref
    return compiled(select(flagged.ref, flagged.state, *ranks).order_by(*order))


@lru_cache(maxsize=64)
def _rows_statement(shape: FlagShape) -> Compiled:
    flagged = _flagged(shape)
    return compiled(_named(select(flagged), flagged))


def _named(query: Select[Any], entries: Any) -> Select[Any]:
    """The query with the columns of submissions and teams, which only the rows of a page need."""
    zip_ = (Submission.id, Submission.exact_copies, Submission.mirrored_copies, Submission.copied_share)
    joined = query.outerjoin(Submission, Submission.ref == entries.c.ref).outerjoin(Team, Team.id == entries.c.team_id)
    return joined.add_columns(*zip_, Team.name.label("team"))


def with_duplicates(session: Session, competition_id: int, refs: Sequence[int]) -> Sequence[int]:
    """The refs of entries and of all others in the competition with the same zip or images. Only these decide whether
    the entries are flagged."""
    of = select(Submission.sha256, Submission.pixels_sha256).where(Submission.ref == any_(id_list(refs))).subquery("of")
    # One look-up per column: a single look-up with OR would read all submissions, because no index has both columns.
    same = [
        select(Submission.ref)
        .join(of, getattr(of.c, name) == getattr(Submission, name))
        .where(Submission.competition_id == competition_id)
        for name in ("sha256", "pixels_sha256")
    ]
    return session.scalars(union(select(Submission.ref).where(Submission.ref == any_(id_list(refs))), *same)).all()
