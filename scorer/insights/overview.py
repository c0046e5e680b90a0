"""Insights data: a competition's submissions as columns, as an account may see them. Figures are made from it.

Organizers see every figure. Before publication, others see the figures of the public track without labels, from the
submissions on its board. Afterwards they see all figures, without names of submissions and teams.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions.competition_state import CompetitionState, may_see_results
from scorer.db import tuning
from scorer.db.tables import Account
from scorer.errors import Invalid
from scorer.leaderboard.rows import load_ranked_board
from scorer.leaderboard.standings import change_counts, visible_changes
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.features import Vector
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import RankedBoard
from scorer.submissions.labels import LABELS, MEMORISES, MEMORISING, LabelInfo, build_label_columns, load_label_info

LABEL_FILTERS: Mapping[str, frozenset[str | None]] = MappingProxyType(
    {
        "all": frozenset({*LABELS, None}),
        "labelled": frozenset(MEMORISES),
        "memorising": frozenset(MEMORISING),
        **{label: frozenset({label}) for label in LABELS},
        "unlabelled": frozenset({None}),
    }
)
"""The label filters of figures: the decided labels that pass, by name."""


@dataclass(frozen=True)
class TrackColumns:
    """The visible submissions of a track, one array of shape (n,) per column.

    They are sorted by ``refs``, or by rank before publication. ``score`` is nan for submissions without a score.
    """

    refs: NDArray[np.int64]
    labels: NDArray[np.int8]
    """The decided label as its index in :data:`scorer.submissions.labels.LABELS`; -1 without a label."""
    fid: Vector
    distance: Vector
    score: Vector
    penalised: NDArray[Any]
    """True or False; None if unknown, because there is no threshold."""

    def where(self, chosen: NDArray[Any]) -> "TrackColumns":
        """The submissions at these indices, or where a mask is true."""
        return TrackColumns(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def with_label(self, label: str) -> NDArray[np.bool_]:
        return np.isin(self.labels, [-1 if name is None else LABELS.index(name) for name in LABEL_FILTERS[label]])


@dataclass(frozen=True)
class InsightsData:
    """The visible submissions by track, and whether labels and names may be shown."""

    state: CompetitionState
    by_track: Mapping[TrackKind, TrackColumns]
    taus: Mapping[TrackKind, float | None]
    labels: bool
    names: bool
    label: str


def insights_version(session: Session, state: CompetitionState, account: Account | None) -> tuple[Any, ...]:
    """A version (for ETags) that changes whenever this account's figures do, and never with data that it may not
    see."""
    everything = may_see_results(state, account)
    kinds = TRACK_KINDS if everything else TRACK_KINDS[:1]
    changes = visible_changes(state, account)
    rows = [change_counts(session, state, state.tracks[kind], extra_kinds=changes) for kind in kinds]
    return (state.competition.id, state.phase, is_organizer(account, state.competition.id), *rows)


def load_insights(
    session: Session,
    state: CompetitionState,
    account: Account | None,
    *,
    label: str = "all",
    track: TrackKind | None = None,
) -> InsightsData:
    """The submissions of a competition that the account may see, filtered by ``label`` (:data:`LABEL_FILTERS`).
    ``track``: only on that track."""
    if label not in LABEL_FILTERS:
        raise Invalid("unknown-label", f"There is no label filter {label!r}. Use one of {', '.join(LABEL_FILTERS)}.")
    everything = may_see_results(state, account)
    if label != "all" and not everything:
        raise Invalid("no-labels", "Labels are hidden until the final board is published. Leave out the filter.")
    by_track: dict[TrackKind, TrackColumns] = {}
    taus: dict[TrackKind, float | None] = {}
    labels = load_label_info(session, state.competition.id) if everything else {}
    for kind in TRACK_KINDS if everything else TRACK_KINDS[:1]:
        if track not in {None, kind}:
            continue
        board = load_ranked_board(session, state, kind)
        entries = _all_entries(board.judged, labels) if everything else _best_entries(board)
        by_track[kind] = entries if label == "all" else entries.where(entries.with_label(label))
        newest = tuning.newest_threshold(session, state.tracks[kind].id)
        taus[kind] = newest.tau if newest else None
    return InsightsData(
        state, by_track, taus, labels=everything, names=is_organizer(account, state.competition.id), label=label
    )


def _all_entries(judged: JudgedEntries, labels: Mapping[int, LabelInfo]) -> TrackColumns:
    """All entries without late ones and benchmark entries. The score is not rounded."""
    entry = judged.columns
    numbers = build_label_columns(labels, entry.ref).number
    penalised: NDArray[Any] = judged.penalised
    if np.isnan(judged.rules.tau):
        penalised = penalised.astype(object)
        penalised[~judged.is_exempt] = None
    columns = TrackColumns(entry.ref, numbers, entry.fid, entry.distance, judged.exact_score, penalised)
    return columns.where(judged.is_competing)


def _best_entries(board: RankedBoard) -> TrackColumns:
    """The best entry of every ranked team, as the board shows it."""
    judged, rows = board.judged, board.rows
    entry = judged.columns
    labels = np.full(len(rows), -1, np.int8)
    numbers = entry.fid[rows], entry.distance[rows], judged.score[rows]
    return TrackColumns(entry.ref[rows], labels, *numbers, judged.penalised[rows])
