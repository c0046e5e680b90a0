"""A track's entries judged by its rules, in columns, for a million entries. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from scorer.metrics.mifid import is_copy, is_penalised, mifid
from scorer.ranking.columns import (
    EntryColumns,
    FinalPicks,
    Flags,
    Floats,
    Ints,
    JudgingRules,
    distinct,
    in_blocks,
    is_among,
    numbered,
    positions_in,
)

INDEPENDENT_OF_TAU = frozenset({"team", "codes", "is_benchmark", "is_disqualified", "is_exempt", "is_copy", "counts"})
"""The cached properties of judged entries that are the same for every tau."""
INDEPENDENT_OF_FINALS = INDEPENDENT_OF_TAU - {"counts"} | {"penalised", "score", "can_rank"}
"""The cached properties that are the same for every choice of final entries."""


@dataclass(frozen=True)
class JudgedEntries:
    """A track's entries judged by the rules: scores, penalties, copies, and which of them count."""

    columns: EntryColumns
    rules: JudgingRules
    finals: FinalPicks | None = None
    """The entries that count; None: all."""

    @cached_property
    def team(self) -> Ints:
        """Each entry's current team."""
        return self.rules.current_teams(self.columns.team)

    @cached_property
    def codes(self) -> tuple[Ints, int]:
        """The teams as numbers from 0, and the number of teams."""
        return numbered(self.team)

    @cached_property
    def is_benchmark(self) -> Flags:
        return is_among(self.team, self.rules.benchmarks)

    @cached_property
    def is_disqualified(self) -> Flags:
        return is_among(self.columns.ref, self.rules.disqualified)

    @cached_property
    def is_exempt(self) -> Flags:
        """Whether each entry is exempt from the penalty, whatever tau is: benchmarks and waived entries."""
        return self.is_benchmark | is_among(self.columns.ref, self.rules.waived)

    @property
    def is_competing(self) -> Flags:
        """Whether each entry counts when tau is chosen: entries in time that are not benchmarks."""
        return ~self.columns.late & ~self.is_benchmark

    @property
    def tau(self) -> Floats:
        """The threshold of each entry: 0 for exempt entries."""
        return self._entry_taus(self.is_exempt)

    def _entry_taus(self, is_exempt: Flags) -> Floats:
        return np.where(is_exempt, 0.0, self.rules.tau)

    @cached_property
    def penalised(self) -> Flags:
        return in_blocks(
            lambda distance, exempt: np.asarray(is_penalised(distance, self._entry_taus(exempt))),
            self.columns.distance,
            self.is_exempt,
        )

    @cached_property
    def is_copy(self) -> Flags:
        return np.asarray(is_copy(self.columns.distance, self.columns.copied_share))

    @cached_property
    def score(self) -> Floats:
        """MiFID, rounded as shown; nan if there is none."""
        scale = 10.0**self.rules.decimals
        return self._in_blocks(lambda *columns: np.asarray(np.floor(self._mifid(*columns) * scale + 0.5) / scale))

    @property
    def exact_score(self) -> Floats:
        """MiFID, not rounded; nan if there is none."""
        return self._in_blocks(self._mifid)

    def _in_blocks(self, function: Callable[..., Floats]) -> Floats:
        entry = self.columns
        return in_blocks(function, entry.fid, entry.distance, self.is_exempt, entry.copied_share)

    def _mifid(self, *columns: Any) -> Floats:
        fid, distance, is_exempt, copied_share = columns
        tau = self._entry_taus(is_exempt)
        return np.asarray(mifid(fid, distance, tau, self.rules.epsilon, copied_share=copied_share))

    @cached_property
    def counts(self) -> Flags:
        """Whether each entry is on the board; on the public board all are."""
        if self.finals is None:
            return np.ones(len(self.columns), np.bool_)
        positions, final = positions_in(self.finals.ref, self.columns.ref)
        final[final] = self.finals.team[positions[final]] == self.team[final]
        apart = (self.is_copy | self.is_disqualified) & ~is_among(self.team, distinct(self.finals.team))
        return final | apart | self.is_benchmark

    @cached_property
    def can_rank(self) -> Flags:
        """Whether each entry has a score and is not disqualified."""
        return np.isfinite(self.score) & ~self.is_disqualified

    def under(self, tau: float) -> "JudgedEntries":
        """The same entries under another tau, with the same ``finals``. Everything independent of tau is computed only
        once."""
        return self._changed(INDEPENDENT_OF_TAU, rules=replace(self.rules, tau=tau))

    def with_finals(self, finals: FinalPicks) -> "JudgedEntries":
        """The same entries, with only ``finals`` counting. Everything independent of that is computed only once."""
        return self._changed(INDEPENDENT_OF_FINALS, finals=finals)

    def _changed(self, names: frozenset[str], **changes: Any) -> "JudgedEntries":
        other = replace(self, **changes)
        other.__dict__.update({name: getattr(self, name) for name in names})
        return other

    def find_row(self, ref: int) -> int | None:
        """The row of an entry; None if it is not among these."""
        row = int(np.searchsorted(self.columns.ref, ref))
        return row if row < len(self.columns) and self.columns.ref[row] == ref else None

    def key(self, row: int) -> tuple[float, int, int]:
        """The sort key of a row: score, time of acceptance, ref."""
        return float(self.score[row]), int(self.columns.accepted_at[row]), int(self.columns.ref[row])
