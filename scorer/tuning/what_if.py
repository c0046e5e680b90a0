"""The table from which anybody can say what any tau does, without asking again.

An entry has one score where it is penalised and one where it is not; which of them counts, its distance decides. Both
come out of the one formula, so who holds the table needs to know nothing of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, track_of
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.tables import Threshold
from scorer.leaderboard.rows import ranked_board_of
from scorer.lifecycle import TrackKind
from scorer.ranking.specification import round_score
from scorer.submissions.labels import label_info_of
from scorer.tuning.impact import TAU_ABOVE_ALL


@dataclass(frozen=True)
class WhatIfRow:
    """An entry under any tau: ``penalised`` is its score where s < tau and it is not ``exempt``, ``free`` elsewhere;
    both as ranked, None for an entry that cannot rank."""

    id: str
    team: str
    distance: float
    se: float | None
    label: str | None
    memorising: bool | None
    exempt: bool
    free: float | None
    penalised: float | None


@dataclass(frozen=True)
class WhatIfTable:
    """Every entry of a track that competes, in the order in which equal scores rank."""

    threshold: Threshold | None
    medals: dict[str, int]
    lines: Sequence[WhatIfRow]


def table_of(session: Session, state: CompetitionState, kind: TrackKind) -> WhatIfTable:
    """The table of a track as it stands."""
    track, competition = track_of(state, kind), state.competition
    about = label_info_of(session, competition.id)
    free = {row.ref: row.mifid for row in board.scores_of_track(session, track.id, tau=0.0)}
    rows = board.scores_of_track(session, track.id, tau=TAU_ABOVE_ALL)
    ranking = set(ranked_board_of(session, competition, state.tracks, kind).contenders.tolist())

    def score(ref: int, value: float) -> float | None:
        return round_score(value, competition.score_decimals) if ref in ranking and math.isfinite(value) else None

    lines = [
        WhatIfRow(
            id=row.id,
            team=row.team,
            distance=row.memorization_distance,
            se=row.distance_se,
            label=about[row.ref].label if row.ref in about else None,
            memorising=about[row.ref].memorising if row.ref in about else None,
            exempt=not row.penalised,
            free=score(row.ref, free[row.ref]),
            penalised=score(row.ref, row.mifid),
        )
        for row in sorted(rows, key=lambda row: (row.accepted_at, row.ref))
    ]
    return WhatIfTable(tuning.newest_threshold(session, track.id), dict(competition.medals), lines)
