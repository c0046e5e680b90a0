"""Insights: what somebody may see of a competition's entries as a whole, which ``scorer.insights.figures`` makes
figures of.

Organizers see every figure. Before publication others see the public track's, of the entries that the board shows,
without labels; after it all of them, without names of entries and teams.
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
from scorer.db.submissions import labels as submissions_labels
from scorer.db.tables import Account
from scorer.errors import Invalid
from scorer.leaderboard import standings
from scorer.leaderboard.board import Place
from scorer.lifecycle import TRACK_KINDS
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
"""Which entries a figure shows, by their decided label."""


@dataclass(frozen=True)
class TrackColumns:
    """The entries of a track that somebody may see, in order of acceptance: one array a column. ``score`` is nan where
    there is none."""

    refs: NDArray[np.int64]
    ids: NDArray[np.object_]
    teams: NDArray[np.object_]
    labels: NDArray[np.object_]
    fid: Vector
    distance: Vector
    score: Vector
    penalised: NDArray[np.object_]

    def where(self, chosen: NDArray[Any]) -> "TrackColumns":
        """The entries at these places, or where a mask is true."""
        return TrackColumns(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class InsightsData:
    """What somebody may see: a field a track, and whether labels and names belong to it."""

    state: CompetitionState
    fields: Mapping[str, TrackColumns]
    taus: Mapping[str, float | None]
    labels: bool
    names: bool
    label: str


def insights_version(session: Session, state: CompetitionState, account: Account | None) -> tuple[Any, ...]:
    """What this person's figures depend on, and nothing that they may not know of."""
    everything = may_see_private(state, account)
    kinds = TRACK_KINDS if everything else TRACK_KINDS[:1]
    rows = [board.version_of(session, state.tracks[kind], labels=everything) for kind in kinds]
    return (state.competition.id, state.phase, is_organizer(account), *rows)


def insights_of(
    session: Session, state: CompetitionState, account: Account | None, *, label: str = "all"
) -> InsightsData:
    """What this person may see of a competition's entries, of those with a chosen ``label`` (:data:`CHOICES`)."""
    if label not in LABEL_FILTERS:
        raise Invalid("unknown-label", f"There is no label {label!r} to choose; there are {', '.join(LABEL_FILTERS)}.")
    everything = may_see_private(state, account)
    if label != "all" and not everything:
        raise Invalid("no-labels", "Labels are shown when the organizers publish the final board.")
    kinds = TRACK_KINDS if everything else TRACK_KINDS[:1]
    labels = submissions_labels.decided_labels(session, state.competition.id) if everything else {}
    fields: dict[str, TrackColumns] = {}
    taus: dict[str, float | None] = {}
    for kind in kinds:
        track = state.tracks[kind]
        rows: Sequence[Score | Place] = (
            board.scores_of_track(session, track.id) if everything else _shown(session, state, account)
        )
        field = _field(rows, labels)
        fields[kind] = field.where(np.array([each in LABEL_FILTERS[label] for each in field.labels], dtype=bool))
        newest = tuning.newest_threshold(session, track.id)
        taus[kind] = newest.tau if newest else None
    return InsightsData(state, fields, taus, labels=everything, names=is_organizer(account), label=label)


def _shown(session: Session, state: CompetitionState, account: Account | None) -> Sequence[Place]:
    """The best entry of every team, as the public board shows it."""
    return standings.standings(session, state, "public", account).places


def _field(rows: Sequence[Score | Place], labels: Mapping[int, str]) -> TrackColumns:
    def of(name: str, kind: Any, otherwise: Any = None) -> NDArray[Any]:
        return np.array([getattr(row, name, otherwise) for row in rows], dtype=kind)

    refs = of("ref", np.int64, 0)
    return TrackColumns(
        refs=refs,
        ids=of("id", object),
        teams=of("team", object),
        labels=np.array([labels.get(int(ref)) for ref in refs], dtype=object),
        fid=of("fid", np.float64),
        distance=of("memorization_distance", np.float64),
        score=np.array([_score(row) for row in rows], dtype=np.float64),
        penalised=of("penalised", object),
    )


def _score(row: Score | Place) -> float:
    return row.score if isinstance(row, Place) else row.mifid
