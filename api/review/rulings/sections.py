"""The section with rulings on an entry's page, as the team sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.http.views import PairView, pair_view
from api.review.rulings.views import CaseView, case_view
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.newest_rows import newest_row
from scorer.db.tables import Label, Submission
from scorer.evidence import closest_pairs
from scorer.evidence.images import StoredImages
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.review import rebuttals, review_entry
from scorer.review.review_queue import FlagReason

NOT_YET = ("review-not-begun", "appeals-not-begun")


@dataclass(frozen=True)
class RulingsSection:
    """Rulings and rebuttals.

    ``label`` is the reviewers' label, once there is a ruling. ``findings`` and ``pairs`` (by track) are the visible
    grounds for an appeal. ``not_yet_reason`` says why the team can't appeal yet, if it will be able to.
    """

    view: CaseView
    label: str | None
    findings: Sequence[FlagReason]
    pairs: Mapping[TrackKind, Sequence[PairView]]
    may_rebut: bool
    not_yet_reason: str | None


def build_rulings_section(
    acting: Acting, images: StoredImages, state: CompetitionState, *, submission: Submission
) -> RulingsSection:
    view = case_view(acting.session, state, submission, inside=False)
    refused = rebuttals.rebuttal_refusal(acting, state, submission)
    not_yet_reason = refused.message if refused is not None and refused.slug in NOT_YET else None
    shown = closest_pairs.tracks_shown_to_team(acting.session, state, submission)
    if not shown:
        return RulingsSection(view, None, (), {}, refused is None, not_yet_reason)
    hidden = tuple(kind for kind in TRACK_KINDS if kind not in shown)
    reasons = review_entry.evidence_reasons(acting.session, state, submission)
    findings = [reason for reason in reasons if not reason.name.startswith(hidden)]
    closest = closest_pairs.load_entry_pairs(acting.session, images, submission, account=acting.actor, kinds=shown)
    pairs = {kind: [pair_view(pair) for pair in closest[kind]] for kind in shown if closest[kind]}
    decided = newest_row(acting.session, Label, submission_ref=submission.ref) if view.rulings else None
    label = None if decided is None else decided.label
    return RulingsSection(view, label, findings, pairs, refused is None, not_yet_reason)
