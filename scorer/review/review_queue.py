"""The review desk: everything about one entry that helps to judge it, except what would sway a reviewer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.leaderboard.scores import Score
from scorer.db.review import reviews as rows
from scorer.db.submissions import duplicates, labels, submissions
from scorer.db.submissions.duplicates import Duplicate
from scorer.db.tables import Account, CoarseLabel, Submission
from scorer.leaderboard.explanations import why_copy
from scorer.lifecycle import TrackKind
from scorer.review import flags, reviews
from scorer.review.flags import FlaggedEntry, FlagReason
from scorer.review.reviews import Opinions
from scorer.teams.teams import current_team_of

MAX_OTHER_ENTRIES = 20
MAX_STANDARD_ERRORS = 100
"""Standard errors beyond which it says no more how many."""


@dataclass(frozen=True)
class OtherEntry:
    """Another entry of the same team, judged on the public track; ``label`` only for those who have said theirs."""

    submission: Submission
    score: Score | None
    label: str | None


@dataclass(frozen=True)
class ReviewEntry:
    """What one reviewer sees of an entry."""

    flagged: FlaggedEntry | None
    opinions: Opinions
    findings: Sequence[FlagReason]
    """The evidence, a sentence each."""
    doubles: Sequence[Duplicate]
    others: Sequence[OtherEntry]
    guesses: Sequence[CoarseLabel]
    """Early ones, only for those who have said theirs."""


def review_entry_for(
    session: Session, state: CompetitionState, submission: Submission, reviewer: Account
) -> ReviewEntry:
    """An entry as this reviewer may see it: what others have said of it, or of the team's other entries, comes after
    one's own word."""
    opinions = reviews.opinions(session, submission, reviewer)
    told = opinions.own is not None or opinions.complete
    return ReviewEntry(
        flagged=flags.flags_of_entry(session, state, reviewer, submission),
        opinions=opinions,
        findings=evidence_reasons(session, state, submission),
        doubles=duplicates.duplicates_of(session, submission),
        others=_others(session, state, submission, told=told),
        guesses=rows.early_labels_of(session, submission.ref) if told else (),
    )


def _others(session: Session, state: CompetitionState, submission: Submission, *, told: bool) -> list[OtherEntry]:
    team = current_team_of(session, submission)
    public = state.tracks["public"]
    found = submissions.submissions_of(
        session, submission.competition_id, team_id=team.id, before=None, limit=MAX_OTHER_ENTRIES + 1
    )
    others = []
    for each in [each for each in found if each.ref != submission.ref][:MAX_OTHER_ENTRIES]:
        label = labels.decided_label(session, each.ref) if told else None
        others.append(OtherEntry(each, board.score_of(session, public.id, each.ref), label.label if label else None))
    return others


def labelled_distances(
    session: Session, state: CompetitionState, kind: TrackKind, *, exclude: int
) -> list[tuple[str, float]]:
    """Label and memorization distance of every entry with a decided label on a track, without the one with ref
    ``exclude``."""
    found = rows.labelled_distances(session, state.competition.id, state.tracks[kind].id)
    return [(row.label, row.distance) for row in found if row.ref != exclude]


def evidence_reasons(session: Session, state: CompetitionState, submission: Submission) -> list[FlagReason]:
    """What was measured of an entry and says something about copying, in words."""
    found = []
    if submission.copied_share:
        counts = submission.exact_copies or 0, submission.mirrored_copies or 0
        found.append(FlagReason("pixel-copies", why_copy(*counts, submission.copied_share)))
    for kind, track in state.tracks.items():
        measured = submissions.newest_measurement(session, submission.ref, track.id)
        if measured is None:
            continue
        threshold = tuning.newest_threshold(session, track.id)
        fresh = track.preparation.heldout_distance if track.preparation is not None else None
        on = f"{kind.capitalize()}: "
        if fresh is not None:
            words = held_out_sentence(measured.memorization_distance, measured.distance_se, fresh)
            found.append(FlagReason(f"{kind}-fresh", on + words))
        if threshold is not None and threshold.tau > 0 and measured.histogram.get("counts"):
            words = near_share(measured.histogram, threshold.tau / 2)
            found.append(FlagReason(f"{kind}-near", on + words))
    return found


def held_out_sentence(distance: float, error: float | None, fresh: float) -> str:
    """On which side of photographs that nobody has seen an entry lies, and how clearly; not how far those are, which
    would tell more about the references than about the entry."""
    side = "closer to the reference than" if distance < fresh else "no closer to the reference than"
    apart_by = abs(distance - fresh) / error if error else 0.0
    how = f", by {_rough(apart_by)} standard errors of its own" if apart_by else ""
    return f"its images are {side} fresh photographs are{how}."


def _rough(errors: float) -> str:
    return f"{errors:.1f}" if errors < MAX_STANDARD_ERRORS else f"more than {MAX_STANDARD_ERRORS}"


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
