"""The review of one submission: everything that helps to judge it, except opinions that would bias a reviewer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.evidence import shared_images
from scorer.db.evidence.shared_images import SharingEntry
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.scores import Score
from scorer.db.newest_rows import newest_row, newest_rows
from scorer.db.submissions import duplicates, submissions
from scorer.db.submissions.duplicates import Duplicate
from scorer.db.tables import Account, EarlyLabel, ImageComparison, Label, Submission
from scorer.db.teams.merges import current_team
from scorer.leaderboard.explanations import why_copy
from scorer.review import reviews
from scorer.review.review_queue import FlaggedEntry, FlagReason, load_entry_flags
from scorer.review.reviews import Opinions
from scorer.review.shared_images import came_first

MAX_OTHER_ENTRIES = 20
MAX_STANDARD_ERRORS = 100
"""Above this number of standard errors, sentences only say "more than" it."""


@dataclass(frozen=True)
class OtherEntry:
    """Another submission of the same team with its public score. ``label`` is set only for reviewers who have given
    their own."""

    submission: Submission
    score: Score | None
    label: str | None


@dataclass(frozen=True)
class ReviewEntry:
    """A submission as one reviewer sees it."""

    flagged: FlaggedEntry | None
    opinions: Opinions
    findings: Sequence[FlagReason]
    """Measured values that bear on copying, one sentence each."""
    duplicates: Sequence[Duplicate]
    sharing: Sequence[SharingEntry]
    """Entries of other teams that share images, without those in ``duplicates``."""
    came_first: Mapping[tuple[int, int], str]
    """Which entry had the images first: a sentence by ``(of, ref)`` of each sharing entry."""
    comparison: ImageComparison | None
    """The number of entries that its images were compared with; None before the comparison."""
    others: Sequence[OtherEntry]
    early_labels: Sequence[EarlyLabel]
    """Set only for reviewers who have given their own label."""


def review_entry_for(
    session: Session, state: CompetitionState, submission: Submission, *, reviewer: Account
) -> ReviewEntry:
    """A submission as this reviewer may see it. Other people's labels, of this submission and the team's other ones,
    are included only after the reviewer's own review."""
    opinions = reviews.opinions(session, submission, reviewer)
    unblinded = opinions.own is not None or opinions.complete
    doubles = duplicates.load_duplicates(session, [submission.ref])
    sharing = shared_images.sharing_entries(session, [submission.ref])
    return ReviewEntry(
        flagged=load_entry_flags(session, state, reviewer, submission=submission),
        opinions=opinions,
        findings=evidence_reasons(session, state, submission),
        duplicates=doubles,
        sharing=[entry for entry in sharing if entry.ref not in {double.ref for double in doubles}],
        came_first=came_first(session, sharing),
        comparison=session.get(ImageComparison, submission.ref),
        others=_others(session, state, submission, unblinded=unblinded),
        early_labels=newest_rows(session, EarlyLabel, submission_ref=submission.ref) if unblinded else (),
    )


def _others(session: Session, state: CompetitionState, submission: Submission, *, unblinded: bool) -> list[OtherEntry]:
    team = current_team(session, submission.team_id)
    public = state.tracks["public"]
    of_team = submissions.load_submissions(
        session, submission.competition_id, team_id=team.id, before=None, limit=MAX_OTHER_ENTRIES + 1
    )
    others = []
    for other in [entry for entry in of_team if entry.ref != submission.ref][:MAX_OTHER_ENTRIES]:
        label = newest_row(session, Label, submission_ref=other.ref) if unblinded else None
        others.append(
            OtherEntry(other, board_details.load_score(session, public.id, other.ref), label.label if label else None)
        )
    return others


def evidence_reasons(session: Session, state: CompetitionState, submission: Submission) -> list[FlagReason]:
    reasons = []
    if submission.copied_share:
        counts = submission.exact_copies or 0, submission.mirrored_copies or 0
        reasons.append(FlagReason("pixel-copies", why_copy(*counts, submission.copied_share)))
    for kind, track in state.tracks.items():
        measured = submissions.newest_measurement(session, submission.ref, track.id)
        if measured is None:
            continue
        threshold = tuning.newest_threshold(session, track.id)
        held_out = track.preparation.held_out_distance if track.preparation is not None else None
        prefix = f"{state.board_title(kind)}: "
        if held_out is not None:
            sentence = held_out_sentence(measured.memorization_distance, measured.distance_se, held_out)
            reasons.append(FlagReason(f"{kind}-held-out", prefix + sentence))
        if threshold is not None and threshold.tau > 0 and measured.histogram.get("counts"):
            sentence = near_share(measured.histogram, threshold.tau / 2)
            reasons.append(FlagReason(f"{kind}-near", prefix + sentence))
    return reasons


def held_out_sentence(distance: float, error: float | None, held_out: float) -> str:
    """The sentence that compares a submission's memorization distance with that of held-out images. It leaves out the
    latter distance, which would reveal more about the references than about the submission."""
    side = "closer to the reference images than" if distance < held_out else "no closer to the reference images than"
    standard_errors = abs(distance - held_out) / error if error else 0.0
    how = f", by {_rough(standard_errors)} standard errors" if standard_errors else ""
    return f"its images are {side} held-out images are{how}."


def _rough(errors: float) -> str:
    return f"{errors:.1f}" if errors < MAX_STANDARD_ERRORS else f"more than {MAX_STANDARD_ERRORS}"


def near_share(histogram: Mapping[str, Any], limit: float) -> str:
    """The sentence with the share of a submission's images nearer than ``limit``, which the mean can hide."""
    return (
        f"{share_below(histogram, limit):.1%} of its images are less than {limit:.4f} (tau / 2) from a training image."
    )


def share_below(histogram: Mapping[str, Any], limit: float) -> float:
    """The share of a histogram's counts (equal bins from ``low`` to ``high``) below ``limit``, interpolated linearly
    within a bin."""
    counts: Sequence[int] = histogram["counts"]
    low, high = histogram["low"], histogram["high"]
    bins = (limit - low) / (high - low) * len(counts)
    whole = min(max(int(bins), 0), len(counts))
    part = counts[whole] * (bins - whole) if 0 <= bins < len(counts) else 0.0
    return (sum(counts[:whole]) + part) / sum(counts)
