"""The what-if table: every entry's score with and without the penalty, for ranking under any tau.

Which of the two scores counts follows from the entry's memorization distance and tau. Both come from
:mod:`scorer.metrics.mifid`, so a reader of the table (the tuning page's script) ranks without knowing the formula.
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
    """An entry under any tau: its score is ``penalised`` if distance < tau and it is not ``exempt``, else ``free``.
    Both are rounded as on the board; None for an entry that cannot rank."""

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
    """Every competing entry of a track, in the order in which entries with equal scores rank."""

    threshold: Threshold | None
    medals: dict[str, int]
    rows: Sequence[WhatIfRow]


def table_of(session: Session, state: CompetitionState, kind: TrackKind) -> WhatIfTable:
    """The what-if table of a track, with the measurements, labels and rulings of now."""
    track = track_of(state, kind)
    competition = state.competition
    labels = label_info_of(session, competition.id)
    free_scores = {row.ref: row.mifid for row in board.scores_of_track(session, track.id, tau=0.0)}
    scores = board.scores_of_track(session, track.id, tau=TAU_ABOVE_ALL)
    can_rank = set(ranked_board_of(session, competition, state.tracks, kind).contenders.tolist())

    def score(ref: int, value: float) -> float | None:
        return round_score(value, competition.score_decimals) if ref in can_rank and math.isfinite(value) else None

    rows = [
        WhatIfRow(
            id=row.id,
            team=row.team,
            distance=row.memorization_distance,
            se=row.distance_se,
            label=labels[row.ref].label if row.ref in labels else None,
            memorising=labels[row.ref].memorising if row.ref in labels else None,
            exempt=not row.penalised,
            free=score(row.ref, free_scores[row.ref]),
            penalised=score(row.ref, row.mifid),
        )
        for row in sorted(scores, key=lambda row: (row.accepted_at, row.ref))
    ]
    return WhatIfTable(tuning.newest_threshold(session, track.id), dict(competition.medals), rows)
