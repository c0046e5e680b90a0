"""The standings in SQL. ``scorer.ranking`` is the readable definition that this is tested against."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, exists, func, literal, literal_column, select, tuple_
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db import merges
from scorer.db.judging import judged, rounded
from scorer.db.tables import Label, Measurement, Publication, Submission, TeamRenaming, Threshold, Track

INFINITY: ColumnElement[float] = literal_column("'Infinity'::double precision")


def _is_late(scores: Any, late: bool) -> ColumnElement[bool]:
    """Late entries (``late``) have a board of their own and are on no other."""
    return exists().where(Submission.ref == scores.c.ref, Submission.late == late)


def ranked(track_id: int, *, decimals: int, tau: float | None = None, late: bool = False) -> Select[Any]:
    """Teams by their best entry: lower is better, ties go to the earlier entry. Copies (NaN) and entries without
    a threshold (NULL) never rank: neither is below infinity. ``late``: the board of late entries."""
    scores = judged(track_id=track_id, tau=tau).subquery("scores")
    score = rounded(scores.c.mifid, decimals)
    order = (score, scores.c.accepted_at, scores.c.ref)
    best = (
        select(scores, score.label("score"))
        .ext(distinct_on(scores.c.team_id))
        .where(scores.c.mifid < INFINITY, ~scores.c.benchmark, _is_late(scores, late))
        .order_by(scores.c.team_id, *order)
        .subquery("best")
    )
    rank = func.row_number().over(order_by=(best.c.score, best.c.accepted_at, best.c.ref)).label("rank")
    return select(best, rank)


def standings(
    session: Session, track_id: int, *, decimals: int, after: int = 0, limit: int | None = None, late: bool = False
) -> Sequence[Row[Any]]:
    """A page of the board, with the number and the time of every team's entries."""
    board = ranked(track_id, decimals=decimals, late=late).subquery("board")
    entries = (
        select(
            func.count(Submission.ref).label("entries"),
            func.max(Submission.accepted_at).label("last_entry_at"),
        )
        .where(merges.is_of(board.c.team_id), Submission.status == "scored", Submission.late == late)
        .lateral("entries")
    )
    query = (
        select(board, entries.c.entries, entries.c.last_entry_at)
        .select_from(board.join(entries, literal_column("true")))
        .where(board.c.rank > after)
        .order_by(board.c.rank)
        .limit(limit)
    )
    return session.execute(query).all()


def ranks(session: Session, track_id: int, *, decimals: int, tau: float | None = None) -> Sequence[Row[Any]]:
    """Every ranked team with its rank, under the newest threshold or under ``tau``."""
    return session.execute(ranked(track_id, decimals=decimals, tau=tau).order_by("rank")).all()


def rank_of(session: Session, track_id: int, submission_ref: int, *, decimals: int, late: bool = False) -> int | None:
    """The rank that an entry holds for its team, if it is the team's best."""
    board = ranked(track_id, decimals=decimals, late=late).subquery("board")
    return session.scalar(select(board.c.rank).where(board.c.ref == submission_ref))


def rank_of_team(session: Session, track_id: int, team_id: int, *, decimals: int) -> int | None:
    """The rank of a team, if it has one."""
    board = ranked(track_id, decimals=decimals).subquery("board")
    return session.scalar(select(board.c.rank).where(board.c.team_id == team_id))


def would_be_rank(
    session: Session, track_id: int, submission_ref: int, *, decimals: int, late: bool = False
) -> int | None:
    """The rank that an entry would hold if it were its team's best (:func:`scorer.ranking.would_be_rank`); None for
    one that cannot rank."""
    scores = judged(track_id=track_id).subquery("scores")
    entry = session.execute(
        select(scores.c.team_id, rounded(scores.c.mifid, decimals).label("score"), scores.c.accepted_at).where(
            scores.c.ref == submission_ref, scores.c.mifid < INFINITY, ~scores.c.benchmark
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
    """The refs of a team's ``most`` best entries, best first; what cannot rank is none of them."""
    scores = judged(track_id=track_id).subquery("scores")
    ranking = (rounded(scores.c.mifid, decimals), scores.c.accepted_at, scores.c.ref)
    can_rank = (scores.c.mifid < INFINITY) & ~scores.c.benchmark & _is_late(scores, False)
    query = select(scores.c.ref).where(scores.c.team_id == team_id, can_rank).order_by(*ranking).limit(most)
    return session.scalars(query).all()


def count_ranked(session: Session, track_id: int, *, late: bool = False) -> int:
    """How many teams have a rank."""
    scores = judged(track_id=track_id).subquery("scores")
    can_rank = (scores.c.mifid < INFINITY) & ~scores.c.benchmark & _is_late(scores, late)
    counted = select(func.count(scores.c.team_id.distinct())).where(can_rank)
    return int(session.scalar(counted) or 0)


def benchmarks(session: Session, track_id: int, *, decimals: int) -> Sequence[Row[Any]]:
    """The organizers' reference lines, best entry each."""
    scores = judged(track_id=track_id).subquery("scores")
    score = rounded(scores.c.mifid, decimals)
    best = (
        select(scores, score.label("score"))
        .ext(distinct_on(scores.c.team_id))
        .where(scores.c.benchmark, scores.c.mifid < INFINITY)
        .order_by(scores.c.team_id, score, scores.c.ref)
        .subquery("best")
    )
    return session.execute(select(best).order_by(best.c.score)).all()


def copies(session: Session, track_id: int, *, late: bool = False) -> Sequence[Row[Any]]:
    """Teams that have nothing on the board but copies, each with its newest one."""
    scores = judged(track_id=track_id).subquery("scores")
    honest = select(scores.c.team_id).where(~scores.c.copy, _is_late(scores, late))
    newest = (
        select(scores, Submission.exact_copies, Submission.mirrored_copies)
        .join(Submission, Submission.ref == scores.c.ref)
        .ext(distinct_on(scores.c.team_id))
        .where(scores.c.copy, scores.c.team_id.not_in(honest), Submission.late == late)
        .order_by(scores.c.team_id, scores.c.ref.desc())
        .subquery("newest")
    )
    return session.execute(select(newest).order_by(newest.c.accepted_at)).all()


def scores_of_track(session: Session, track_id: int, *, tau: float | None = None) -> Sequence[Row[Any]]:
    """Every judged entry of a track that is neither a benchmark nor late, in order of ref: what tau is chosen by."""
    scores = judged(track_id=track_id, tau=tau).subquery("scores")
    competing = ~scores.c.benchmark & _is_late(scores, False)
    return session.execute(select(scores).where(competing).order_by(scores.c.ref)).all()


def score_of(session: Session, track_id: int, submission_ref: int) -> Row[Any] | None:
    """One entry, judged."""
    scores = judged(track_id=track_id).subquery("scores")
    return session.execute(select(scores).where(scores.c.ref == submission_ref)).one_or_none()


def version_of(session: Session, track: Track, *, labels: bool) -> tuple[Any, ...]:
    """What a board depends on: equal versions, equal boards. History is counted, not asked for its newest id,
    because a row may be committed after one with a higher id. ``labels``: for those who see them."""
    competition_id = track.competition_id
    row = session.execute(
        select(
            select(func.count(Measurement.id)).where(Measurement.track_id == track.id).scalar_subquery(),
            select(func.count(Threshold.id)).where(Threshold.track_id == track.id).scalar_subquery(),
            select(func.count(Publication.id)).where(Publication.competition_id == competition_id).scalar_subquery(),
            select(func.count()).where(Submission.competition_id == competition_id).scalar_subquery(),
            select(func.max(Submission.finished_at))
            .where(Submission.competition_id == competition_id)
            .scalar_subquery(),
            select(func.count(TeamRenaming.id)).where(TeamRenaming.competition_id == competition_id).scalar_subquery(),
            merges.count_in(competition_id),
        )
    ).one()
    return (*row, _count_labels(session, competition_id) if labels else None)


def _count_labels(session: Session, competition_id: int) -> int | None:
    counted = select(func.count(Label.id)).join(Submission, Submission.ref == Label.submission_ref)
    return session.scalar(counted.where(Submission.competition_id == competition_id))
