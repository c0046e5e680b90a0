"""The history of a track's tau: every choice, and whom it penalised or freed."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, track_of
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.tables import Threshold
from scorer.lifecycle import TrackKind
from scorer.submissions.labels import label_info_of
from scorer.tuning.impact import TAU_ABOVE_ALL, PenaltyChange
from scorer.tuning.thresholds import changes_of, effective_thresholds


@dataclass(frozen=True)
class ThresholdStep:
    """One choice of tau, and whom it penalised or freed among the entries that were there already."""

    threshold: Threshold
    standing: bool
    """Whether it has not been taken back."""
    penalised: Sequence[PenaltyChange]
    freed: Sequence[PenaltyChange]


def threshold_history(session: Session, state: CompetitionState, kind: TrackKind) -> list[ThresholdStep]:
    """Every tau of a track, newest first, each with what it changed; by the newest measurements."""
    track = track_of(state, kind)
    thresholds = tuning.thresholds_of(session, track.id)
    about = label_info_of(session, state.competition.id)
    # Whoever is exempt from the penalty is so under every tau.
    rows = [row for row in board.scores_of_track(session, track.id, tau=TAU_ABOVE_ALL) if row.penalised]
    standing = {row.id for row in effective_thresholds(thresholds)}
    before = [*(row.tau for row in thresholds[1:]), 0.0][: len(thresholds)]
    steps = []
    for threshold, earlier in zip(thresholds, before, strict=True):
        low, high = sorted((threshold.tau, earlier))
        moved = [
            row for row in rows if low <= row.memorization_distance < high and row.accepted_at <= threshold.created_at
        ]
        changes = changes_of(moved, about)
        up = threshold.tau > earlier
        steps.append(ThresholdStep(threshold, threshold.id in standing, changes if up else [], [] if up else changes))
    return steps
