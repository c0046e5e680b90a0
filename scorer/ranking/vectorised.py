"""A board's entries as columns, judged and ranked by numpy: what :mod:`scorer.ranking.specification` defines, for a
million entries.

Pure. A column of moments is in microseconds since 1970, so that nothing is lost and numbers sort as moments do.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from scorer.metrics.mifid import is_copy, is_penalised, mifid
from scorer.ranking.columns import EntryColumns, FinalPicks, Flags, Floats, Ints, JudgingRules


@dataclass(frozen=True)
class RankedBoard:
    """A board: the row of each ranked team's best entry in the field, from rank 1 on, and what stands apart."""

    judged: "JudgedEntries"
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

    @property
    def refs(self) -> list[int]:
        """Each ranked team's best entry, from rank 1 on."""
        found: list[int] = self.judged.columns.ref[self.rows].tolist()
        return found

    @property
    def contenders(self) -> Ints:
        """The refs of the entries by which teams can rank in time, whatever tau is: without benchmarks and what was
        disqualified. A copy among them has no score."""
        judged = self.judged
        return judged.columns.ref[judged.counts & ~judged.columns.late & ~judged.is_benchmark & ~judged.is_disqualified]

    def rank_of_team(self, team: int) -> int | None:
        """The rank of a team, if it has one."""
        teams, order = self._by_team
        here = int(np.searchsorted(teams, team))
        return int(order[here]) + 1 if here < len(teams) and teams[here] == team else None

    def rank_of(self, ref: int) -> int | None:
        """The rank that an entry holds for its team, if it is the team's best."""
        row = self.judged.row_of(ref)
        rank = None if row is None else self.rank_of_team(int(self.judged.team[row]))
        return rank if rank is not None and self.rows[rank - 1] == row else None

    def would_be_rank(self, ref: int) -> int | None:
        """:func:`scorer.ranking.specification.would_be_rank`."""
        judged, row = self.judged, self.judged.row_of(ref)
        if row is None or not judged.can_rank[row] or judged.is_benchmark[row]:
            return None
        low, high = 0, len(self.rows)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if judged.key(self.rows[middle]) < judged.key(row) else (low, middle)
        own = self.rank_of_team(int(judged.team[row]))
        return low + 1 - (own is not None and own <= low)


@dataclass(frozen=True)
class JudgedEntries:
    """A track's entries judged by the rules: scores, penalties, copies, and which of them count."""

    columns: EntryColumns
    rules: JudgingRules
    finals: FinalPicks | None = None
    """Which entries count; None: all."""

    @cached_property
    def team(self) -> Ints:
        """The team that each entry belongs to now."""
        return current_teams(self.columns.team, self.rules)

    @cached_property
    def codes(self) -> tuple[Ints, int]:
        """The teams as numbers from 0, and how many there are."""
        teams, codes = np.unique(self.team, return_inverse=True)
        return codes, len(teams)

    @cached_property
    def is_benchmark(self) -> Flags:
        """Entries that are reference lines."""
        return _among(self.team, self.rules.benchmarks)

    @cached_property
    def is_disqualified(self) -> Flags:
        """Entries that rank nowhere."""
        return _among(self.columns.ref, self.rules.disqualified)

    @cached_property
    def tau(self) -> Floats:
        """What each entry is judged with."""
        free = self.is_benchmark | _among(self.columns.ref, self.rules.waived)
        return np.where(free, 0.0, self.rules.tau)

    @cached_property
    def penalised(self) -> Flags:
        """Entries below their tau."""
        return np.asarray(is_penalised(self.columns.distance, self.tau))

    @cached_property
    def is_copy(self) -> Flags:
        """Entries that are copies."""
        return np.asarray(is_copy(self.columns.distance, self.columns.copied_share))

    @cached_property
    def score(self) -> Floats:
        """MiFID, rounded as it is shown; nan where there is none."""
        entry, scale = self.columns, 10.0**self.rules.decimals
        exact = mifid(entry.fid, entry.distance, self.tau, self.rules.epsilon, copied_share=entry.copied_share)
        return np.asarray(np.floor(exact * scale + 0.5) / scale)

    @cached_property
    def counts(self) -> Flags:
        """Entries that the board is made of, of the public track all."""
        if self.finals is None:
            return np.ones(len(self.columns), np.bool_)
        place = np.searchsorted(self.finals.ref, self.columns.ref)
        place[place == len(self.finals.ref)] = 0
        final = np.zeros(len(self.columns), np.bool_)
        if len(self.finals.ref):
            final = (self.finals.ref[place] == self.columns.ref) & (self.finals.team[place] == self.team)
        apart = (self.is_copy | self.is_disqualified) & ~_among(self.team, np.unique(self.finals.team))
        return final | apart | self.is_benchmark

    @cached_property
    def can_rank(self) -> Flags:
        """Entries with a score that were not ruled out."""
        return np.isfinite(self.score) & ~self.is_disqualified

    def under(self, tau: float) -> "JudgedEntries":
        """The same entries under another tau; what counts among them stays."""
        return replace(self, rules=replace(self.rules, tau=tau))

    def row_of(self, ref: int) -> int | None:
        """Where an entry is."""
        row = int(np.searchsorted(self.columns.ref, ref))
        return row if row < len(self.columns) and self.columns.ref[row] == ref else None

    def key(self, row: int) -> tuple[float, int, int]:
        """What entries are ordered by."""
        return float(self.score[row]), int(self.columns.accepted_at[row]), int(self.columns.ref[row])


def order_of(judged: JudgedEntries, *, late: bool = False) -> RankedBoard:
    """:func:`scorer.ranking.specification.standings` of a field; with ``finals``,
    :func:`scorer.ranking.specification.final_standings`."""
    here = (judged.columns.late == late) & judged.counts
    line, mark = here & judged.can_rank, judged.is_benchmark
    best = _sorted(judged, _best_of_each(judged, line & ~mark))
    lines = _sorted(judged, _best_of_each(judged, (judged.can_rank & mark)))
    placed = _teams_with(judged, line)
    out = here & judged.is_disqualified & ~placed[judged.codes[0]]
    others = _teams_with(judged, here & (judged.is_disqualified | ~judged.is_copy))
    copies = here & ~others[judged.codes[0]]
    return RankedBoard(judged, best, lines, _newest_of_each(judged, copies), _newest_of_each(judged, out))


def finals_of(public: JudgedEntries, picks: FinalPicks, most: int) -> FinalPicks:
    """:func:`scorer.ranking.specification.final_refs`: what teams have picked, and of the others the ``most`` best
    public entries."""
    mine = ~public.is_benchmark & ~public.columns.late
    picking = _among(public.team, np.unique(picks.team))
    chosen = np.zeros(len(mine), np.bool_)
    if len(public.columns):
        rows = np.minimum(np.searchsorted(public.columns.ref, picks.ref), len(public.columns) - 1)
        own = (public.columns.ref[rows] == picks.ref) & (public.team[rows] == picks.team) & mine[rows]
        chosen[rows[own]] = True
    left = mine & ~picking & np.isfinite(public.score)
    for _ in range(most):
        best = _best_of_each(public, left)
        chosen[best], left[best] = True, False
    return FinalPicks(public.columns.ref[chosen], public.team[chosen])


def best_of(public: JudgedEntries, most: int) -> Ints:
    """The refs of the ``most`` best entries in time, best first, whatever was ruled; what has no score is none of
    them."""
    rows = np.flatnonzero(np.isfinite(public.score) & ~public.is_benchmark & ~public.columns.late)
    return public.columns.ref[_sorted(public, rows)[:most]]


def current_teams(teams: Ints, rules: JudgingRules) -> Ints:
    """The teams that these belong to now."""
    if not len(rules.merged):
        return teams
    place = np.minimum(np.searchsorted(rules.merged, teams), len(rules.merged) - 1)
    return np.where(rules.merged[place] == teams, rules.into[place], teams)


def _among(values: Ints, wanted: Ints) -> Flags:
    return np.isin(values, wanted) if len(wanted) else np.zeros(len(values), np.bool_)


def _teams_with(judged: JudgedEntries, rows: Flags) -> Flags:
    """Whether each team has one of the rows, by its code."""
    codes, count = judged.codes
    found = np.zeros(count, np.bool_)
    found[codes[rows]] = True
    return found


def _best_of_each(judged: JudgedEntries, rows: Flags) -> Ints:
    """The row of each team's best entry. Only entries with their team's best score are sorted: few."""
    codes, count = judged.codes
    best = np.full(count, np.inf)
    np.minimum.at(best, codes[rows], judged.score[rows])
    equal = np.flatnonzero(rows & (judged.score == best[codes]))
    in_order = equal[np.lexsort((judged.columns.ref[equal], judged.columns.accepted_at[equal], codes[equal]))]
    return in_order[np.unique(codes[in_order], return_index=True)[1]]


def _sorted(judged: JudgedEntries, rows: Ints) -> Ints:
    entry = judged.columns
    return rows[np.lexsort((entry.ref[rows], entry.accepted_at[rows], judged.score[rows]))]


def _newest_of_each(judged: JudgedEntries, rows: Flags) -> Ints:
    """The newest of each team's rows, in the order of acceptance. Rows are in the order of ref."""
    found = np.flatnonzero(rows)[::-1]
    newest = found[np.unique(judged.codes[0][found], return_index=True)[1]]
    return newest[np.lexsort((judged.columns.ref[newest], judged.columns.accepted_at[newest]))]
