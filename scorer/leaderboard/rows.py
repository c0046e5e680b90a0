"""The rows of a track's board: who ranks where, with which entry and score.

The ranked board comes from the process's cache where it has one (:mod:`scorer.leaderboard.board_cache`), else from
columns that are read for this call. Names and reasons are added later, for the rows of one page
(:mod:`scorer.leaderboard.standings`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import count, repeat
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from scorer.db import rescoring
from scorer.db.leaderboard import board
from scorer.db.leaderboard.columns import final_as_of, from_microseconds, judged_of, picks_of
from scorer.leaderboard import board_cache
from scorer.leaderboard.board_cache import BoardTracks
from scorer.lifecycle import TrackKind
from scorer.ranking.columns import Ints
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import BoardListing, RankedBoard, finals_of, order_of

STREAMED_ROWS = 5_000


class BoardRow(NamedTuple):
    """An entry on a board: its team's best one, with a rank; a benchmark, without; or an unranked entry (a copy, or
    disqualified), whose ``score`` means nothing."""

    rank: int | None
    ref: int
    team_id: int
    score: float
    fid: float
    memorization_distance: float
    penalised: bool
    terms: int
    """By which scorer version and references it was measured, as a number."""
    accepted_at: datetime


@dataclass(frozen=True)
class BoardRows:
    """A ranked board as rows: ranked teams, benchmarks, and the teams that are listed without a rank."""

    board: BoardListing

    def __len__(self) -> int:
        """How many teams have a rank."""
        return len(self.board)

    @cached_property
    def terms(self) -> Mapping[int, int]:
        """The terms by which ranked entries and benchmarks were measured, those of most entries first, each with the
        ref of one of them; empty if all were measured alike."""
        entry = self.board.judged.columns
        shown = np.concatenate([self.board.rows, self.board.benchmarks])
        terms = entry.terms[shown]
        if not len(terms) or (terms == terms[0]).all():
            return {}
        values, first, counts = np.unique(terms, return_index=True, return_counts=True)
        order = np.lexsort((values, -counts))
        return dict(zip(values[order].tolist(), entry.ref[shown[first[order]]].tolist(), strict=True))

    def page(self, after: int, limit: int | None) -> list[BoardRow]:
        """The rows from rank ``after + 1`` on, at most ``limit``."""
        end = len(self.board) if limit is None else after + limit
        return self._rows(self.board.rows[after:end], after + 1)

    def stream(self) -> Iterator[BoardRow]:
        """All ranked rows, of which some thousands at a time are in memory."""
        for after in range(0, len(self.board), STREAMED_ROWS):
            yield from self.page(after, STREAMED_ROWS)

    def of_teams(self, team_ids: Collection[int] | Ints, after: int = 0, limit: int | None = None) -> list[BoardRow]:
        """The rows of those of the teams that have a rank above ``after``, best first, at most ``limit``."""
        wanted = team_ids if isinstance(team_ids, np.ndarray) else np.array(list(team_ids), np.int64)
        ranks = self.board.ranks_of_teams(wanted)
        ranks = ranks[ranks > after][:limit]
        rows = self._rows(self.board.rows[ranks - 1])
        return [row._replace(rank=rank) for rank, row in zip(ranks.tolist(), rows, strict=True)]

    def benchmarks(self) -> list[BoardRow]:
        """Benchmark entries, best first."""
        return self._rows(self.board.benchmarks)

    def copies(self) -> list[BoardRow]:
        """The newest entry of each team that has nothing but copies."""
        return self._rows(self.board.copies)

    def disqualified(self) -> list[BoardRow]:
        """The newest disqualified entry of each team that has no rank because of it."""
        return self._rows(self.board.disqualified)

    def _rows(self, positions: Ints, first_rank: int | None = None) -> list[BoardRow]:
        """The entries at these positions of the columns; ranked from ``first_rank`` on, or without a rank (None)."""
        judged = self.board.judged
        entry = self.board.judged.columns
        numbers = (entry.ref, judged.team, judged.score, entry.fid, entry.distance, judged.penalised, entry.terms)
        columns = (*numbers, entry.accepted_at)
        entries = zip(*(column[positions].tolist() for column in columns), strict=True)
        ranks = repeat(None) if first_rank is None else count(first_rank)
        return [
            BoardRow._make((rank, *values, from_microseconds(accepted_at)))
            for rank, (*values, accepted_at) in zip(ranks, entries, strict=False)
        ]


def rows_of(
    session: Session,
    state: BoardTracks,
    kind: TrackKind,
    *,
    late: bool = False,
    at: datetime | None = None,
) -> BoardRows:
    """The rows of a track's board: of late entries (``late``), as it was at a past moment (``at``)."""
    if at is None:
        return BoardRows(ranked_board_of(session, state, kind, late=late))
    cache = board_cache.cache_of(session)
    if cache is not None:
        return BoardRows(cache.past_listing(state, kind, late=late, at=at))
    return BoardRows(read_ranked_board(session, state, kind, late=late, at=at))


def day_start_rows_of(session: Session, state: BoardTracks, kind: TrackKind, *, at: datetime) -> BoardRows:
    """The rows of a track's board as it was when the day began (``at``); the process's cache always has them."""
    cache = board_cache.cache_of(session)
    if cache is not None:
        refreshed = board_cache.has_snapshot(session, state.competition)
        return BoardRows(cache.day_start_listing(state, kind, at, refreshed=refreshed))
    return BoardRows(read_ranked_board(session, state, kind, at=at))


def teams_named(
    session: Session,
    state: BoardTracks,
    rows: BoardRows,
    *,
    text: str,
    at: datetime | None,
) -> Ints:
    """The ids of the teams on a board whose name (of the moment ``at``) contains ``text``, in NFKC and whatever the
    letter case."""
    cache = board_cache.cache_of(session)
    if cache is not None and at is None:
        return cache.teams_named(state, text, rows.board.teams)
    found = board.teams_named(session, state.competition.id, text, at=at)
    return np.intersect1d(np.array(list(found), np.int64), rows.board.teams)


def ranked_board_of(
    session: Session,
    state: BoardTracks,
    kind: TrackKind,
    *,
    late: bool = False,
) -> RankedBoard:
    """The ranked board of a track: from the process's cache, which has what is committed, or without a cache from
    :func:`read_ranked_board`."""
    cache = board_cache.cache_of(session)
    if cache is not None:
        refreshed = board_cache.has_snapshot(session, state.competition)
        return cache.ranked_board(state, kind, late=late, refreshed=refreshed)
    return read_ranked_board(session, state, kind, late=late)


def judged_entries_of(
    session: Session,
    state: BoardTracks,
    kind: TrackKind,
) -> JudgedEntries:
    """A track's scored entries as columns, judged: scores, penalties, copies, rulings, benchmarks and late entries
    among them. From the process's cache, as :func:`ranked_board_of`, whose board has the same as ``board.judged``.

    The columns are shared between threads: read them, never write into them. ``judged.under(tau)`` judges the same
    entries by another tau, and :func:`scorer.ranking.vectorised.order_of` ranks them.
    """
    return ranked_board_of(session, state, kind).judged


def read_ranked_board(
    session: Session,
    state: BoardTracks,
    kind: TrackKind,
    *,
    late: bool = False,
    at: datetime | None = None,
    campaigns: Collection[int] | None = None,
    taus: Mapping[int, float] = MappingProxyType({}),
) -> RankedBoard:
    """The ranked board of a track, read from the database as this transaction sees it, with what it has written. The
    private one is read as of the publication, if the final board is published.

    ``campaigns``: as if exactly these rescoring campaigns were in force; ``taus``: under these thresholds, by track id.
    """
    session.flush()  # columns are read past the session, whose own queries would flush
    connection = session.connection()
    if kind == "private":
        at = final_as_of(connection, state.competition.id, at=at) or at

    def judged_on(track_id: int) -> JudgedEntries:
        judged = judged_of(connection, track_id, at=at, campaigns=campaigns)
        return judged.under(taus[track_id]) if track_id in taus else judged

    judged = judged_on(state.tracks[kind].id)
    if kind == "private":
        public = judged_on(state.tracks["public"].id)
        picks = picks_of(connection, state.competition.id, at=at)
        judged = judged.with_finals(finals_of(public, picks, state.competition.final_picks))
    return order_of(judged, late=late)


def ranks_by_team(rows: Sequence[BoardRow]) -> dict[int, int | None]:
    """The rank of each row's team, by its id."""
    return {row.team_id: row.rank for row in rows}


def terms_names(session: Session, track_id: int, rows: BoardRows, *, at: datetime | None) -> dict[int, str]:
    """The names of ``rows.terms``, those of most entries first: the scorer version and, as far as they differ, the
    references and the extractor. Of a track's board, of the moment ``at``."""
    if not rows.terms:
        return {}
    made_by = rescoring.terms_by_entry(session, track_id, list(rows.terms.values()), at=at)
    references_differ = len({each.references for each in made_by.values()}) > 1
    extractors_differ = len({each.extractor for each in made_by.values()}) > 1

    def name(terms: rescoring.Terms) -> str:
        parts = [f"scorer version {terms.scorer_version}"]
        parts += [f"references {terms.references}"] if references_differ else []
        parts += [terms.extractor] if extractors_differ else []
        return ", ".join(parts)

    return {terms: name(made_by[ref]) for terms, ref in rows.terms.items()}
