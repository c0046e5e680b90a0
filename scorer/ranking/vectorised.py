"""The order of a board, computed with numpy over columns, for a million entries. Pure.

The definition is :mod:`tests.pure.ranking.specification`. Times are integer microseconds since 2000-01-01 UTC:
lossless, and sorted like the times.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorer.ranking.columns import EMPTY, FinalPicks, Flags, Ints, distinct, is_among, positions_in
from scorer.ranking.judged_entries import JudgedEntries

STREAMED_ROWS = 5_000


@dataclass(frozen=True)
class BoardRow:
    """An entry on a board: its team's best entry, with a rank; a benchmark, with rank 0; or an unranked entry (a copy,
    or disqualified), with rank 0 and a meaningless ``score``."""

    rank: int
    ref: int
    team_id: int
    score: float
    fid: float
    memorization_distance: float
    penalised: bool
    conditions: int
    """The scorer version and references it was measured with, as a number."""


@dataclass(frozen=True)
class BoardListing:
    """The rows that a board lists: ranked teams' best entries, starting at rank 1, benchmarks, and unranked teams.

    ``judged`` has at least these entries.
    """

    judged: JudgedEntries
    rows: Ints
    benchmarks: Ints
    copies: Ints
    disqualified: Ints

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _by_team(self) -> tuple[Ints, Ints]:
        teams = self.judged.team[self.rows]
        order = np.argsort(teams)
        return teams[order], order

    @cached_property
    def conditions(self) -> Mapping[int, int]:
        """The conditions of the measurements of ranked entries and benchmarks, most frequent first, each with the ref
        of one entry; empty if all have the same."""
        entry = self.judged.columns
        shown = np.concatenate([self.rows, self.benchmarks])
        conditions = entry.conditions[shown]
        if not len(conditions) or (conditions == conditions[0]).all():
            return {}
        values, first, counts = np.unique(conditions, return_index=True, return_counts=True)
        order = np.lexsort((values, -counts))
        return dict(zip(values[order].tolist(), entry.ref[shown[first[order]]].tolist(), strict=True))

    def at_ranks(self, ranks: Ints) -> list[BoardRow]:
        return self._board_rows(ranks, self.rows[ranks - 1])

    def page(self, after: int, limit: int | None) -> list[BoardRow]:
        """The rows starting at rank ``after + 1``, at most ``limit``."""
        end = len(self) if limit is None else min(after + limit, len(self))
        return self.at_ranks(np.arange(after + 1, end + 1))

    def stream(self) -> Iterator[BoardRow]:
        """All ranked rows, with a few thousand in memory at a time."""
        for after in range(0, len(self), STREAMED_ROWS):
            yield from self.page(after, STREAMED_ROWS)

    def find_team_row(self, team: int) -> BoardRow | None:
        return next(iter(self.at_ranks(self.sorted_ranks(np.array([team], np.int64)))), None)

    def unranked(self, rows: Ints) -> list[BoardRow]:
        """The board rows of benchmarks, copies or disqualified entries."""
        return self._board_rows(np.zeros(len(rows), np.int64), rows)

    def _board_rows(self, ranks: Ints, rows: Ints) -> list[BoardRow]:
        judged, entry = self.judged, self.judged.columns
        columns = (entry.ref, judged.team, judged.score, entry.fid, entry.distance, judged.penalised, entry.conditions)
        values = zip(ranks.tolist(), *(column[rows].tolist() for column in columns), strict=True)
        return [BoardRow(*row) for row in values]

    @property
    def refs(self) -> list[int]:
        """Each ranked team's best entry, starting at rank 1."""
        refs: list[int] = self.judged.columns.ref[self.rows].tolist()
        return refs

    @property
    def listed(self) -> Ints:
        """The rows of all entries that the board lists, in the order of ref."""
        return distinct(np.concatenate([self.rows, self.benchmarks, self.copies, self.disqualified]))

    @cached_property
    def teams(self) -> Ints:
        """The ids of all teams that the board lists, sorted."""
        return distinct(self.judged.team[self.listed])

    def find_team_rank(self, team: int) -> int | None:
        ranks = self.sorted_ranks(np.array([team], np.int64))
        return int(ranks[0]) if len(ranks) else None

    def sorted_ranks(self, wanted: Ints) -> Ints:
        """The ranks of the teams that have one, in ascending order."""
        ranks = self.find_ranks(wanted)
        return np.sort(ranks[ranks > 0])

    def find_ranks(self, wanted: Ints) -> Ints:
        """The rank of each team; 0 without one."""
        teams, order = self._by_team
        positions, has_rank = positions_in(teams, wanted)
        ranks = np.zeros(len(wanted), np.int64)
        ranks[has_rank] = order[positions[has_rank]] + 1
        return ranks

    def find_entry_rank(self, ref: int) -> int | None:
        """The rank that an entry holds for its team; None unless it is the team's best."""
        row = self.judged.find_row(ref)
        rank = None if row is None else self.find_team_rank(int(self.judged.team[row]))
        return rank if rank is not None and self.rows[rank - 1] == row else None

    def compacted(self) -> "BoardListing":
        """The same listing without the columns of other entries."""
        listed = self.listed
        judged = JudgedEntries(self.judged.columns.take(listed), self.judged.rules)
        lists = (self.rows, self.benchmarks, self.copies, self.disqualified)
        return BoardListing(judged, *(np.searchsorted(listed, rows) for rows in lists))


@dataclass(frozen=True)
class RankedBoard(BoardListing):
    """A board with all entries of its track."""

    def would_be_rank(self, ref: int) -> int | None:
        """The rank that the entry ``ref`` would have as its team's only entry; None if it could have none."""
        judged = self.judged
        row = self.judged.find_row(ref)
        if row is None or not judged.can_rank[row] or judged.is_benchmark[row]:
            return None
        low = 0
        high = len(self.rows)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if judged.key(self.rows[middle]) < judged.key(row) else (low, middle)
        own = self.find_team_rank(int(judged.team[row]))
        return low + 1 - (own is not None and own <= low)


def rank_entries(judged: JudgedEntries, *, late: bool = False) -> RankedBoard:
    """Rank a track's entries, in time or ``late``. Defined by :func:`tests.pure.ranking.specification.standings`, and
    with ``finals`` by :func:`tests.pure.ranking.specification.final_standings`.
    """
    on_board = (judged.columns.late == late) & judged.counts
    rankable = on_board & judged.can_rank
    is_benchmark = judged.is_benchmark
    best = _sorted(judged, _best_rows(judged, rankable & ~is_benchmark))
    benchmarks = _sorted(judged, _best_rows(judged, (judged.can_rank & is_benchmark)))
    has_rank = _teams_with(judged, rankable)
    disqualified = on_board & judged.is_disqualified & ~has_rank[judged.codes[0]]
    has_other = _teams_with(judged, on_board & (judged.is_disqualified | ~judged.is_copy))
    copies = on_board & ~has_other[judged.codes[0]]
    return RankedBoard(judged, best, benchmarks, _newest_rows(judged, copies), _newest_rows(judged, disqualified))


def choose_finals(public: JudgedEntries, picks: FinalPicks, max_finals: int) -> FinalPicks:
    """The final entries of each team: its measured picks, or its ``max_finals`` best public entries
    (:func:`tests.pure.ranking.specification.final_refs`).
    """
    eligible = ~public.is_benchmark & ~public.columns.late
    is_final = np.zeros(len(eligible), np.bool_)
    rows, is_scored = positions_in(public.columns.ref, picks.ref)
    own = rows[is_scored][public.team[rows[is_scored]] == picks.team[is_scored]]
    is_final[own] = eligible[own]
    has_picks = is_among(public.team, distinct(public.team[is_final]))
    remaining = eligible & ~has_picks & np.isfinite(public.score)
    for _ in range(max_finals):
        best = _best_rows(public, remaining)
        is_final[best] = True
        remaining[best] = False
    return FinalPicks(public.columns.ref[is_final], public.team[is_final])


def find_best(public: JudgedEntries, count: int) -> Ints:
    """The refs of the ``count`` best scored entries in time, best first, ignoring rulings."""
    rows = np.flatnonzero(np.isfinite(public.score) & ~public.is_benchmark & ~public.columns.late)
    return public.columns.ref[_sorted(public, rows)[:count]]


def _teams_with(judged: JudgedEntries, rows: Flags) -> Flags:
    """Whether each team, by its code, has one of the rows."""
    codes, count = judged.codes
    has_row = np.zeros(count, np.bool_)
    has_row[codes[rows]] = True
    return has_row


def _best_rows(judged: JudgedEntries, rows: Flags) -> Ints:
    """The row of each team's best entry, unordered. Only entries that share their team's best score are sorted."""
    codes, count = judged.codes
    best = np.full(count, np.inf)
    np.minimum.at(best, codes[rows], judged.score[rows])
    equal = np.flatnonzero(rows & (judged.score == best[codes]))
    shares = np.bincount(codes[equal], minlength=count)[codes[equal]] > 1
    shared = equal[shares]
    in_order = shared[np.lexsort((judged.columns.ref[shared], judged.columns.accepted_at[shared], codes[shared]))]
    firsts = in_order[np.unique(codes[in_order], return_index=True)[1]]
    return np.concatenate([equal[~shares], firsts])


def _sorted(judged: JudgedEntries, rows: Ints) -> Ints:
    """The rows in the order of score, time of acceptance and ref."""
    entry = judged.columns
    in_order = rows[np.argsort(judged.score[rows])]  # sorting by several keys takes three times as long
    score = judged.score[in_order]
    same = score[1:] == score[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False)) if len(score) else EMPTY
    ties = in_order[tied]
    in_order[tied] = ties[np.lexsort((entry.ref[ties], entry.accepted_at[ties], judged.score[ties]))]
    return in_order


def _newest_rows(judged: JudgedEntries, rows: Flags) -> Ints:
    """The newest of each team's rows, in the order of acceptance. Rows are in the order of ref."""
    newest_first = np.flatnonzero(rows)[::-1]
    newest = newest_first[np.unique(judged.codes[0][newest_first], return_index=True)[1]]
    return newest[np.lexsort((judged.columns.ref[newest], judged.columns.accepted_at[newest]))]
