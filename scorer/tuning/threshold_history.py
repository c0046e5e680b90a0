"""The history of a track's threshold: every choice of tau, and which entries it penalised or freed."""

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
    """One choice of tau, and which of the entries accepted until then it penalised or freed."""

    threshold: Threshold
    standing: bool
    """Whether it stands: no undo has taken it back."""
    penalised: Sequence[PenaltyChange]
    freed: Sequence[PenaltyChange]


def threshold_history(session: Session, state: CompetitionState, kind: TrackKind) -> list[ThresholdStep]:
    """Every choice of tau of a track, newest first, with what it changed, judged by the newest measurements."""
    track = track_of(state, kind)
    thresholds = tuning.thresholds_of(session, track.id)
    labels = label_info_of(session, state.competition.id)
    # Entries that are exempt from the penalty are exempt under every tau.
    rows = [row for row in board.scores_of_track(session, track.id, tau=TAU_ABOVE_ALL) if row.penalised]
    standing = {row.id for row in effective_thresholds(thresholds)}
    taus_before = [*(row.tau for row in thresholds[1:]), 0.0][: len(thresholds)]
    steps = []
    for threshold, tau_before in zip(thresholds, taus_before, strict=True):
        low, high = sorted((threshold.tau, tau_before))
        moved = [
            row for row in rows if low <= row.memorization_distance < high and row.accepted_at <= threshold.created_at
        ]
        changes = changes_of(moved, labels)
        penalised, freed = (changes, []) if threshold.tau > tau_before else ([], changes)
        steps.append(ThresholdStep(threshold, threshold.id in standing, penalised, freed))
    return steps
