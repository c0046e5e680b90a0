"""The history of a track's threshold: every choice of tau and the entries that it moved across tau."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from sqlalchemy.orm import Session

from scorer.db import tuning
from scorer.db.leaderboard.ranked_entries import to_microseconds
from scorer.db.tables import Threshold
from scorer.db.tuning import effective_thresholds
from scorer.errors import NotFound
from scorer.leaderboard.board_versions import ChangesPage
from scorer.ranking.columns import Ints
from scorer.tuning.impact import penalty_changes
from scorer.tuning.thresholds import TrackEntries

STEPS = 20
"""Choices of tau per page of the history."""
LISTED = 30
"""Entries listed with each choice. Further entries are read page by page."""


@dataclass(frozen=True)
class ThresholdStep:
    """A choice of tau, and the entries accepted until then that it penalised or no longer penalised. As tau moved in
    one direction, one of the two lists is empty."""

    threshold: Threshold
    is_effective: bool
    """Whether the choice has not been undone."""
    penalised: ChangesPage
    freed: ChangesPage


@dataclass(frozen=True)
class ThresholdHistory:
    steps: Sequence[ThresholdStep]
    """Newest first."""
    total: int
    """How many choices there have been."""
    undoable: bool
    """Whether the newest choice can be undone."""


@dataclass(frozen=True)
class _Steps:
    """All choices of tau, newest first, with the entries that each moved across tau according to the newest
    measurements."""

    entries: TrackEntries
    thresholds: Sequence[Threshold]

    @cached_property
    def _closest_first(self) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """The rows of the entries that a tau can penalise, and their distances, sorted by distance."""
        judged = self.entries.board.judged
        rows = np.flatnonzero(judged.is_competing & ~judged.is_exempt)
        rows = rows[np.argsort(judged.columns.distance[rows], kind="stable")]
        return rows, judged.columns.distance[rows]

    def tau_before(self, number: int) -> float:
        """The tau that a choice replaced; 0, which penalises no entry, for the first choice."""
        return self.thresholds[number + 1].tau if number + 1 < len(self.thresholds) else 0.0

    def changed_rows(self, number: int) -> Ints:
        """The entries that a choice moved across tau, the closest first."""
        chosen = self.thresholds[number]
        rows, distances = self._closest_first
        low, high = np.searchsorted(distances, sorted((chosen.tau, self.tau_before(number))))
        moved = rows[low:high]
        accepted_at = self.entries.board.judged.columns.accepted_at[moved]
        return moved[accepted_at <= to_microseconds(chosen.created_at)]

    def page(self, session: Session, number: int, *, after: int = 0, limit: int) -> ChangesPage:
        judged, labels = self.entries.board.judged, self.entries.labels
        rows = self.changed_rows(number)
        return ChangesPage(len(rows), after, penalty_changes(session, judged, labels, page=rows[after : after + limit]))


def threshold_history(
    session: Session, entries: TrackEntries, *, before: int | None = None, limit: int = STEPS
) -> ThresholdHistory:
    """At most ``limit`` choices of tau of a track, newest first, with the entries that each changed according to the
    newest measurements. ``before``: only choices older than the threshold with this id."""
    steps = _Steps(entries, tuning.load_thresholds(session, entries.track.id))
    effective = effective_thresholds(steps.thresholds)
    effective_ids = {row.id for row in effective}

    def step(number: int) -> ThresholdStep:
        row, changes = steps.thresholds[number], steps.page(session, number, limit=LISTED)
        penalised, freed = changes, ChangesPage()
        if row.tau < steps.tau_before(number):
            penalised, freed = freed, penalised
        return ThresholdStep(row, row.id in effective_ids, penalised, freed)

    numbers: Iterable[int] = (number for number, row in enumerate(steps.thresholds) if not before or row.id < before)
    return ThresholdHistory(
        [step(number) for number in islice(numbers, limit)], len(steps.thresholds), len(effective) > 1
    )


def load_step_changes(
    session: Session, entries: TrackEntries, threshold_id: int, *, after: int, limit: int
) -> ChangesPage:
    """A page of the entries that one choice moved across tau. ``NotFound`` for a choice of another track."""
    steps = _Steps(entries, tuning.load_thresholds(session, entries.track.id))
    number = next((number for number, row in enumerate(steps.thresholds) if row.id == threshold_id), None)
    if number is None:
        raise NotFound("no-threshold", f"The track has no threshold {threshold_id}.")
    return steps.page(session, number, after=after, limit=limit)
