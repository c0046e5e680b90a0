"""Sections of a submission's page: rulings, evidence, generator."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from api.rendering.charts.recovery_errors import RecoveryErrorsChart, recovery_errors_chart_of
from api.schemas.evidence.evidence import CellView, EvidenceView, FindingView, MatchesView, evidence_view
from api.schemas.evidence.generators import GeneratorView, visible_generator_view
from api.schemas.review.review_queue import PairView
from api.schemas.review.review_queue_views import pair_view
from api.schemas.review.rulings import CaseView, case_view
from scorer.blobs import Blobs
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Submission
from scorer.errors import KennelError, TooMany
from scorer.evidence import closest_pairs, generator_uploads
from scorer.lifecycle import TRACK_KINDS
from scorer.onnx_files import MAX_LATENT_DIMENSION
from scorer.review import rebuttals, review_queue, reviews
from scorer.review.flags import FlagReason

REVIEW_NOT_BEGUN = "review-not-begun"


@dataclass(frozen=True)
class RulingsSection:
    """``label``, ``findings`` and ``pairs`` are the evidence, of the public track alone, shown once there is a ruling.
    ``later``: why a rebuttal is not taken yet, where it will be."""

    view: CaseView
    label: str | None
    findings: Sequence[FlagReason]
    pairs: Sequence[PairView]
    may_rebut: bool
    later: str | None


def rulings_section_of(
    session: Session, store: Blobs, state: CompetitionState, submission: Submission, account: Account, now: datetime
) -> RulingsSection:
    """The judging of an entry, for its team."""
    view = case_view(session, state, submission, inside=False)
    refused = rebuttals.rebuttal_refusal(session, state, submission, account, now)
    later = refused.message if refused is not None and refused.slug == REVIEW_NOT_BEGUN else None
    if not view.rulings:
        return RulingsSection(view, None, (), (), refused is None, later)
    found = review_queue.evidence_reasons(session, state, submission)
    shown = [each for each in found if not each.name.startswith("private")]
    closest = closest_pairs.pairs_of_entry(session, store, submission, account)["public"]
    label = reviews.decided_label(session, submission)
    return RulingsSection(view, label, shown, [pair_view(each) for each in closest], refused is None, later)


MAX_CELLS = 3
"""Copied cells that are shown at once, the most telling ones."""
OVERLAPPING_GROUPS = ("near-copies", "thumbnail-copies", "partly-copied")
"""Groups that mostly name the same images: the first one whose sign is shown is enough."""
SIGNS_OF_GROUP = {
    "near-copies": ("near-copies", "mirrored-copies"),
    "identical": ("identical-images",),
    "mirrored-twins": ("identical-images",),
}
"""The signs that a group's images are of, where they are not called like the group."""


@dataclass(frozen=True)
class EvidenceSection:
    """One track's evidence. ``sentences``: those of its signs, each once."""

    view: EvidenceView
    sentences: Sequence[str]
    telling: Sequence[MatchesView]
    copied: Sequence[CellView]
    folded: Sequence[MatchesView]
    findings: Sequence[FindingView]
    opened: bool
    """Whether it is shown before somebody asks for it."""


def evidence_sections_of(session: Session, submission: Submission, account: Account) -> list[EvidenceSection]:
    """The evidence on every track, of which the first that speaks of copying is opened."""
    found: list[EvidenceSection] = []
    for kind in TRACK_KINDS:
        view = evidence_view(session, submission, kind, account)
        opened = bool(view.signs) and not any(each.opened for each in found)
        found.append(_evidence_section(view, opened=opened))
    return found


def _evidence_section(view: EvidenceView, *, opened: bool) -> EvidenceSection:
    signs = {each.name for each in view.signs}
    telling = [each for each in view.matches if signs & {*SIGNS_OF_GROUP.get(each.name, (each.name,))}]
    same = [each for each in telling if each.name in OVERLAPPING_GROUPS]
    telling = [each for each in telling if each not in same[1:]]
    copied = sorted((each for each in view.cells if each.copied), key=lambda each: each.z or 0.0)
    return EvidenceSection(
        view=view,
        sentences=list(dict.fromkeys(each.words for each in view.signs)),
        telling=telling,
        copied=copied[:MAX_CELLS],
        folded=[each for each in view.matches if each not in telling],
        findings=view.findings,
        opened=opened,
    )


@dataclass(frozen=True)
class GeneratorSection:
    """``later``: why no other one is taken today, where that is so."""

    found: GeneratorView | None
    errors: RecoveryErrorsChart | None
    may_hand_in: bool
    later: str | None
    most_dimensions: int = MAX_LATENT_DIMENSION

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to say."""
        return self.found is not None or self.may_hand_in or self.later is not None


def generator_section_of(
    session: Session, submission: Submission, account: Account, *, asked: bool, now: datetime
) -> GeneratorSection:
    """The section for this person; ``asked``: with the form, if they may hand one in."""
    found = visible_generator_view(session, submission, account)
    errors = recovery_errors_chart_of(found.result.report) if found is not None and found.result is not None else None
    refused = _refusal_of(session, submission, account, now) if asked else None
    later = refused.message if isinstance(refused, TooMany) else None
    return GeneratorSection(found, errors, asked and refused is None, later)


def _refusal_of(session: Session, submission: Submission, account: Account, now: datetime) -> KennelError | None:
    try:
        generator_uploads.require_generator_change(session, submission.id, account, now)
    except KennelError as error:
        return error
    return None
