"""The standings in SQL. ``scorer.ranking`` is the readable definition that this is tested against.

What every function can be asked: ``tau`` instead of the newest threshold; ``late``, the board of the entries after
the close; ``at``, the board as it was at a moment. Putting a statement together takes longer than most boards take to
be read, so statements are kept.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Row,
    Select,
    Subquery,
    any_,
    bindparam,
    func,
    literal,
    literal_column,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.orm import Session

from scorer.db import changes, merges
from scorer.db.finals import INFINITY, field, kept
from scorer.db.judging import id_list, judged, name_at, newest_rulings, rounded
from scorer.db.tables import Measurement, Submission, Team, Track


def _can_rank(entry: Subquery) -> ColumnElement[bool]:
    """Copies (NaN) and entries without a threshold (NULL) never rank: neither is below infinity."""
    return (entry.c.mifid < INFINITY) & ~entry.c.benchmark & ~entry.c.disqualified


@kept
def ranked(
    track_id: int, *, decimals: int, tau: float | None = None, late: bool = False, at: datetime | None = None
) -> Select[Any]:
    """Teams by their best entry: lower is better, ties go to the earlier entry."""
    entry = field(track_id, decimals=decimals, tau=tau, late=late, at=at)
    best = (
        select(entry)
        .ext(distinct_on(entry.c.team_id))
        .where(_can_rank(entry))
        .order_by(entry.c.team_id, entry.c.score, entry.c.accepted_at, entry.c.ref)
        .subquery("best_of_each")
    )
    rank = func.row_number().over(order_by=(best.c.score, best.c.accepted_at, best.c.ref)).label("rank")
    return select(best, rank)


def standings(
    session: Session,
    track_id: int,
    *,
    decimals: int,
    after: int = 0,
    limit: int | None = None,
    late: bool = False,
    at: datetime | None = None,
) -> Sequence[Row[Any]]:
    """A page of the board, with the number and the time of every team's entries."""
    return session.execute(page(track_id, decimals=decimals, late=late, at=at, after=after, limit=limit)).all()


@kept
def page(
    track_id: int,
    *,
    decimals: int,
    late: bool = False,
    at: datetime | None = None,
    after: int = 0,
    limit: int | None = None,
) -> Select[Any]:
    """The statement of :func:`standings`. Entries are counted for the teams on the page alone."""
    board = ranked(track_id, decimals=decimals, late=late, at=at).subquery("board")
    shown = select(board).where(board.c.rank > after).order_by(board.c.rank).limit(limit).subquery("shown")
    entries = _entries_of(shown.c.team_id, late, at)
    query = select(shown, entries.c.entries, entries.c.last_entry_at)
    return query.select_from(shown.join(entries, true())).order_by(shown.c.rank)


def _entries_of(team_id: Any, late: bool, at: datetime | None) -> Any:
    counted = select(
        func.count(Submission.ref).label("entries"), func.max(Submission.accepted_at).label("last_entry_at")
    ).where(merges.is_of(team_id, at), Submission.status == "scored", Submission.late == late)
    if at is not None:
        measured = select(Measurement.id).where(
            Measurement.submission_ref == Submission.ref, Measurement.created_at <= at
        )
        counted = counted.where(measured.exists())
    return counted.lateral("entries")


def named(
    session: Session, refs: Collection[int], *, late: bool = False, at: datetime | None = None
) -> Sequence[Row[Any]]:
    """What a board tells of entries beside their scores: ``ref``, ``id``, ``team``, ``entries``, ``last_entry_at``."""
    return session.execute(_names(late, at), {"refs": list(refs)}).all()


@kept
def _names(late: bool, at: datetime | None) -> Select[Any]:
    merged = merges.newest(at)
    name = (Team.name if at is None else name_at(Team, at)).label("team")
    line = (
        select(Submission.ref, Submission.id, Team.id.label("team_id"), name)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.ref == any_(bindparam("refs", type_=ARRAY(BigInteger))))
        .subquery("line")
    )
    entries = _entries_of(line.c.team_id, late, at)
    query = select(line.c.ref, line.c.id, line.c.team, entries.c.entries, entries.c.last_entry_at)
    return query.select_from(line.join(entries, true()))


def listed(session: Session, refs: Collection[int], *, at: datetime | None = None) -> Sequence[Row[Any]]:
    """What is told of entries that are listed apart: ``ref``, ``id``, ``exact_copies``, ``mirrored_copies``,
    ``copied_share``, ``reason`` (of the ruling)."""
    ruled = newest_rulings(at)
    query = select(
        Submission.ref,
        Submission.id,
        Submission.exact_copies,
        Submission.mirrored_copies,
        Submission.copied_share,
        ruled.c.reason,
    ).outerjoin(ruled, ruled.c.submission_ref == Submission.ref)
    return session.execute(query.where(Submission.ref == any_(id_list(refs)))).all()


def teams_named(session: Session, competition_id: int, words: str, at: datetime | None = None) -> set[int]:
    """The teams whose name contains ``words``, whatever the letter case."""
    name = Team.name if at is None else name_at(Team, at)
    wanted = func.lower(func.normalize(literal(words), literal_column("NFKC")))
    here = func.strpos(func.lower(func.normalize(name, literal_column("NFKC"))), wanted) > 0
    return set(session.scalars(select(Team.id).where(Team.competition_id == competition_id, here)))


def ranks(
    session: Session,
    track_id: int,
    *,
    decimals: int,
    tau: float | None = None,
    late: bool = False,
    at: datetime | None = None,
) -> Sequence[Row[Any]]:
    """Every ranked team with its rank, under the newest threshold or under ``tau``."""
    return session.execute(ranked(track_id, decimals=decimals, tau=tau, late=late, at=at).order_by("rank")).all()


def rank_of(session: Session, track_id: int, submission_ref: int, *, decimals: int, late: bool = False) -> int | None:
    """The rank that an entry holds for its team, if it is the team's best."""
    board = ranked(track_id, decimals=decimals, late=late).subquery("board")
    return session.scalar(select(board.c.rank).where(board.c.ref == submission_ref))


def would_be_rank(
    session: Session, track_id: int, submission_ref: int, *, decimals: int, late: bool = False
) -> int | None:
    """The rank that an entry would hold if it were its team's best (:func:`scorer.ranking.would_be_rank`); None for
    one that cannot rank."""
    scores = judged(track_id=track_id, refs=[submission_ref]).subquery("scores")
    entry = session.execute(
        select(scores.c.team_id, rounded(scores.c.mifid, decimals).label("score"), scores.c.accepted_at).where(
            _can_rank(scores)
        )
    ).one_or_none()
    if entry is None:
        return None
    board = ranked(track_id, decimals=decimals, late=late).subquery("board")
    better = tuple_(board.c.score, board.c.accepted_at, board.c.ref) < tuple_(
        literal(entry.score), literal(entry.accepted_at), literal(submission_ref)
    )
    ahead = select(func.count()).where(board.c.team_id != entry.team_id, better)
    return int(session.scalar(ahead) or 0) + 1


def best_of_team(session: Session, track_id: int, team_id: int, *, decimals: int, most: int) -> Sequence[int]:
    """The refs of a team's ``most`` best entries, best first, whatever was ruled; what has no score is none of them."""
    mine = session.scalars(select(Submission.ref).where(merges.is_of(team_id))).all()
    scores = judged(track_id=track_id, refs=mine).subquery("scores")
    order = (rounded(scores.c.mifid, decimals), scores.c.accepted_at, scores.c.ref)
    can_rank = (scores.c.mifid < INFINITY) & ~scores.c.benchmark & ~scores.c.late
    return session.scalars(select(scores.c.ref).where(can_rank).order_by(*order).limit(most)).all()


def count_ranked(
    session: Session, track_id: int, *, decimals: int, late: bool = False, at: datetime | None = None
) -> int:
    """How many teams have a rank."""
    entry = field(track_id, decimals=decimals, late=late, at=at)
    return int(session.scalar(select(func.count(entry.c.team_id.distinct())).where(_can_rank(entry))) or 0)


def benchmarks(session: Session, track_id: int, *, decimals: int, at: datetime | None = None) -> Sequence[Row[Any]]:
    """The organizers' reference lines, best entry each: the same on every board of a track."""
    return session.execute(reference_lines(track_id, decimals=decimals, at=at)).all()


@kept
def reference_lines(track_id: int, *, decimals: int, at: datetime | None = None) -> Select[Any]:
    """The statement of :func:`benchmarks`."""
    scores = judged(track_id=track_id, at=at).subquery("scores")
    score = rounded(scores.c.mifid, decimals)
    best = (
        select(scores, score.label("score"))
        .ext(distinct_on(scores.c.team_id))
        .where(scores.c.benchmark, scores.c.mifid < INFINITY, ~scores.c.disqualified)
        .order_by(scores.c.team_id, score, scores.c.accepted_at, scores.c.ref)
        .subquery("best")
    )
    return select(best).order_by(best.c.score, best.c.accepted_at, best.c.ref)


def copies(
    session: Session, track_id: int, *, decimals: int, late: bool = False, at: datetime | None = None
) -> Sequence[Row[Any]]:
    """Teams that have nothing on the board but copies, each with its newest one."""
    return session.execute(copies_apart(track_id, decimals=decimals, late=late, at=at)).all()


@kept
def copies_apart(track_id: int, *, decimals: int, late: bool = False, at: datetime | None = None) -> Select[Any]:
    """The statement of :func:`copies`."""
    entry = field(track_id, decimals=decimals, late=late, at=at)
    others = select(entry.c.team_id).where(~entry.c.copy | entry.c.disqualified)
    newest = (
        select(entry)
        .ext(distinct_on(entry.c.team_id))
        .where(entry.c.team_id.not_in(others))
        .order_by(entry.c.team_id, entry.c.ref.desc())
        .subquery("newest")
    )
    return select(newest).order_by(newest.c.accepted_at, newest.c.ref)


def disqualified(
    session: Session, track_id: int, *, decimals: int, late: bool = False, at: datetime | None = None
) -> Sequence[Row[Any]]:
    """Teams without a rank of which an entry was disqualified, each with the newest such entry."""
    return session.execute(disqualified_apart(track_id, decimals=decimals, late=late, at=at)).all()


@kept
def disqualified_apart(track_id: int, *, decimals: int, late: bool = False, at: datetime | None = None) -> Select[Any]:
    """The statement of :func:`disqualified`."""
    entry = field(track_id, decimals=decimals, late=late, at=at)
    placed = select(entry.c.team_id).where(entry.c.mifid < INFINITY, ~entry.c.disqualified)
    newest = (
        select(entry)
        .ext(distinct_on(entry.c.team_id))
        .where(entry.c.disqualified, entry.c.team_id.not_in(placed))
        .order_by(entry.c.team_id, entry.c.ref.desc())
        .subquery("newest")
    )
    return select(newest).order_by(newest.c.accepted_at, newest.c.ref)


def scores_of_track(session: Session, track_id: int, *, tau: float | None = None) -> Sequence[Row[Any]]:
    """Every judged entry of a track that is neither a benchmark nor late, in order of ref: what tau is chosen by."""
    scores = judged(track_id=track_id, tau=tau).subquery("scores")
    competing = ~scores.c.benchmark & ~scores.c.late
    return session.execute(select(scores).where(competing).order_by(scores.c.ref)).all()


def score_of(session: Session, track_id: int, submission_ref: int) -> Row[Any] | None:
    """One entry, judged."""
    return session.execute(judged(track_id=track_id, refs=[submission_ref])).one_or_none()


def version_of(session: Session, track: Track, *, labels: bool) -> tuple[int, ...]:
    """What a board depends on: equal versions, equal boards. ``labels``: for those who see them."""
    here = select(Track.id).where(Track.competition_id == track.competition_id)
    # The private board takes from the public one what teams are ranked by; the public one knows nothing of the other.
    tracks = session.scalars(here.where((Track.id == track.id) | (Track.kind == "public"))).all()
    return changes.version_of(session, track.competition_id, tracks, labels=labels)
