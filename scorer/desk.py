"""The review desk: everything about one entry that helps to judge it, except what would sway a reviewer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from scorer import flags, reviews
from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.leaderboard.scores import Score
from scorer.db.review import reviews as rows
from scorer.db.submissions import duplicates, labels, submissions
from scorer.db.submissions.duplicates import Duplicate
from scorer.db.tables import Account, CoarseLabel, Submission
from scorer.flags import Flagged, Reason
from scorer.leaderboard.explanations import why_copy
from scorer.lifecycle import TrackKind
from scorer.reviews import Opinions
from scorer.teams.teams import current_team_of

MOST_OTHERS = 20
MANY_ERRORS = 100
"""Standard errors beyond which it says no more how many."""


@dataclass(frozen=True)
class Other:
    """Another entry of the same team, judged on the public track; ``label`` only for those who have said theirs."""

    submission: Submission
    score: Score | None
    label: str | None


@dataclass(frozen=True)
class Look:
    """What one reviewer sees of an entry."""

    flagged: Flagged | None
    opinions: Opinions
    findings: Sequence[Reason]
    """The evidence, a sentence each."""
    doubles: Sequence[Duplicate]
    others: Sequence[Other]
    guesses: Sequence[CoarseLabel]
    """Early ones, only for those who have said theirs."""


def look(session: Session, state: CompetitionState, submission: Submission, reviewer: Account) -> Look:
    """An entry as this reviewer may see it: what others have said of it, or of the team's other entries, comes after
    one's own word."""
    opinions = reviews.opinions(session, submission, reviewer)
    told = opinions.own is not None or opinions.complete
    return Look(
        flagged=flags.of_entry(session, state, reviewer, submission),
        opinions=opinions,
        findings=findings_of(session, state, submission),
        doubles=duplicates.duplicates_of(session, submission),
        others=_others(session, state, submission, told=told),
        guesses=rows.early_labels_of(session, submission.ref) if told else (),
    )


def _others(session: Session, state: CompetitionState, submission: Submission, *, told: bool) -> list[Other]:
    team = current_team_of(session, submission)
    public = state.tracks["public"]
    found = submissions.submissions_of(
        session, submission.competition_id, team_id=team.id, before=None, limit=MOST_OTHERS + 1
    )
    others = []
    for each in [each for each in found if each.ref != submission.ref][:MOST_OTHERS]:
        label = labels.decided_label(session, each.ref) if told else None
        others.append(Other(each, board.score_of(session, public.id, each.ref), label.label if label else None))
    return others


def labelled(session: Session, state: CompetitionState, kind: TrackKind, *, but: int) -> list[tuple[str, float]]:
    """Label and memorization distance of every entry with a decided label on a track, without the one with ref
    ``but``."""
    found = rows.labelled_distances(session, state.competition.id, state.tracks[kind].id)
    return [(row.label, row.distance) for row in found if row.ref != but]


def findings_of(session: Session, state: CompetitionState, submission: Submission) -> list[Reason]:
    """What was measured of an entry and says something about copying, in words."""
    found = []
    if submission.copied_share:
        counts = submission.exact_copies or 0, submission.mirrored_copies or 0
        found.append(Reason("pixel-copies", why_copy(*counts, submission.copied_share)))
    for kind, track in state.tracks.items():
        measured = submissions.newest_measurement(session, submission.ref, track.id)
        if measured is None:
            continue
        threshold = tuning.newest_threshold(session, track.id)
        fresh = track.preparation.heldout_distance if track.preparation is not None else None
        on = f"{kind.capitalize()}: "
        if fresh is not None:
            words = compared(measured.memorization_distance, measured.distance_se, fresh)
            found.append(Reason(f"{kind}-fresh", on + words))
        if threshold is not None and threshold.tau > 0 and measured.histogram.get("counts"):
            words = near_share(measured.histogram, threshold.tau / 2)
            found.append(Reason(f"{kind}-near", on + words))
    return found


def compared(distance: float, error: float | None, fresh: float) -> str:
    """On which side of photographs that nobody has seen an entry lies, and how clearly; not how far those are, which
    would tell more about the references than about the entry."""
    side = "closer to the reference than" if distance < fresh else "no closer to the reference than"
    apart_by = abs(distance - fresh) / error if error else 0.0
    how = f", by {_rough(apart_by)} standard errors of its own" if apart_by else ""
    return f"its images are {side} fresh photographs are{how}."


def _rough(errors: float) -> str:
    return f"{errors:.1f}" if errors < MANY_ERRORS else f"more than {MANY_ERRORS}"


def near_share(histogram: Mapping[str, Any], limit: float) -> str:
    """How many of an entry's images are nearer than ``limit``: its mean may hide them."""
    return f"{share_below(histogram, limit):.1%} of its images are nearer than {limit:.4f}, half of tau."


def share_below(histogram: Mapping[str, Any], limit: float) -> float:
    """The share of counts in equal bins from ``low`` to ``high`` that lies below ``limit``; of the bin that it cuts, as
    much as lies below if all in it were evenly spread."""
    counts: Sequence[int] = histogram["counts"]
    low, high = histogram["low"], histogram["high"]
    bins = (limit - low) / (high - low) * len(counts)
    whole = min(max(int(bins), 0), len(counts))
    part = counts[whole] * (bins - whole) if 0 <= bins < len(counts) else 0.0
    return (sum(counts[:whole]) + part) / sum(counts)
