"""Insights data: a competition's submissions as columns, as an account may see them; the input of figures.

Organizers see every figure. Before publication others see those of the public track, of the submissions on its board,
without labels; afterwards all of them, without names of submissions and teams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions.competition_state import CompetitionState, may_see_private
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.leaderboard.scores import Score
from scorer.db.submissions.labels import decided_labels
from scorer.db.tables import Account
from scorer.errors import Invalid
from scorer.leaderboard import standings
from scorer.leaderboard.board import Place
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.features import Vector
from scorer.submissions.labels import MEMORISES

LABELS = (*MEMORISES, "other")
LABEL_FILTERS: Mapping[str, frozenset[str | None]] = MappingProxyType(
    {
        "all": frozenset({*LABELS, None}),
        "labelled": frozenset(MEMORISES),
        "memorising": frozenset(label for label, memorises in MEMORISES.items() if memorises),
        **{label: frozenset({label}) for label in LABELS},
        "unlabelled": frozenset({None}),
    }
)
"""The label filters of figures: name -> decided labels that pass."""


@dataclass(frozen=True)
class TrackColumns:
    """The visible submissions of a track in order of acceptance, one array of shape (n,) per column; ``score`` is nan
    where there is none."""

    refs: NDArray[np.int64]
    ids: NDArray[np.object_]
    teams: NDArray[np.object_]
    labels: NDArray[np.object_]
    fid: Vector
    distance: Vector
    score: Vector
    penalised: NDArray[np.object_]

    def where(self, chosen: NDArray[Any]) -> "TrackColumns":
        """The submissions at these indexes, or where a mask is true."""
        return TrackColumns(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


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
    """A version (for ETags) that changes whenever this account's figures do, and with nothing that it may not see."""
    everything = may_see_private(state, account)
    kinds = TRACK_KINDS if everything else TRACK_KINDS[:1]
    rows = [board.version_of(session, state.tracks[kind], labels=everything) for kind in kinds]
    return (state.competition.id, state.phase, is_organizer(account), *rows)


def insights_of(
    session: Session, state: CompetitionState, account: Account | None, *, label: str = "all"
) -> InsightsData:
    """The submissions of a competition that the account may see, filtered by ``label`` (:data:`LABEL_FILTERS`)."""
    if label not in LABEL_FILTERS:
        raise Invalid("unknown-label", f"There is no label {label!r} to choose; there are {', '.join(LABEL_FILTERS)}.")
    everything = may_see_private(state, account)
    if label != "all" and not everything:
        raise Invalid("no-labels", "Labels are shown when the organizers publish the final board.")
    kinds = TRACK_KINDS if everything else TRACK_KINDS[:1]
    labels = decided_labels(session, state.competition.id) if everything else {}
    by_track: dict[TrackKind, TrackColumns] = {}
    taus: dict[TrackKind, float | None] = {}
    for kind in kinds:
        track = state.tracks[kind]
        rows: Sequence[Score | Place] = (
            board.scores_of_track(session, track.id) if everything else _board_places(session, state, account)
        )
        entries = _columns(rows, labels)
        passes = np.array([decided in LABEL_FILTERS[label] for decided in entries.labels], dtype=bool)
        by_track[kind] = entries.where(passes)
        newest = tuning.newest_threshold(session, track.id)
        taus[kind] = newest.tau if newest else None
    return InsightsData(state, by_track, taus, labels=everything, names=is_organizer(account), label=label)


def _board_places(session: Session, state: CompetitionState, account: Account | None) -> Sequence[Place]:
    """The places of the public board: the best submission of every team."""
    return standings.standings(session, state, "public", account).places


def _columns(rows: Sequence[Score | Place], labels: Mapping[int, str]) -> TrackColumns:
    def column(name: str, dtype: Any, default: Any = None) -> NDArray[Any]:
        return np.array([getattr(row, name, default) for row in rows], dtype=dtype)

    refs = column("ref", np.int64, 0)
    return TrackColumns(
        refs=refs,
        ids=column("id", object),
        teams=column("team", object),
        labels=np.array([labels.get(int(ref)) for ref in refs], dtype=object),
        fid=column("fid", np.float64),
        distance=column("memorization_distance", np.float64),
        score=np.array([_score(row) for row in rows], dtype=np.float64),
        penalised=column("penalised", object),
    )


def _score(row: Score | Place) -> float:
    return row.score if isinstance(row, Place) else row.mifid
