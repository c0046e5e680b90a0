"""What a page shows of an entry's evidence: the telling part at once, the rest folded away."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from api.schemas.evidence.evidence import CellView, EvidenceView, FindingView, MatchesView, evidence_view
from scorer.db.tables import Account, Submission
from scorer.lifecycle import TRACK_KINDS

CELLS = 3
"""Copied cells that are shown at once, the most telling ones."""
SAME = ("near-copies", "thumbnail-copies", "partly-copied")
"""Groups that mostly name the same images: the first one whose sign is shown is enough."""
TOLD_BY = {
    "near-copies": ("near-copies", "mirrored-copies"),
    "identical": ("identical-images",),
    "mirrored-twins": ("identical-images",),
}
"""The signs that a group's images are of, where they are not called like the group."""


@dataclass(frozen=True)
class Exhibit:
    """One track's evidence. ``sentences``: those of its signs, each once."""

    view: EvidenceView
    sentences: Sequence[str]
    telling: Sequence[MatchesView]
    copied: Sequence[CellView]
    folded: Sequence[MatchesView]
    findings: Sequence[FindingView]
    opened: bool
    """Whether it is shown before somebody asks for it."""


def exhibits_of(session: Session, submission: Submission, account: Account) -> list[Exhibit]:
    """The evidence on every track, of which the first that speaks of copying is opened."""
    found: list[Exhibit] = []
    for kind in TRACK_KINDS:
        view = evidence_view(session, submission, kind, account)
        opened = bool(view.signs) and not any(each.opened for each in found)
        found.append(_exhibit(view, opened=opened))
    return found


def _exhibit(view: EvidenceView, *, opened: bool) -> Exhibit:
    signs = {each.name for each in view.signs}
    telling = [each for each in view.matches if signs & {*TOLD_BY.get(each.name, (each.name,))}]
    same = [each for each in telling if each.name in SAME]
    telling = [each for each in telling if each not in same[1:]]
    copied = sorted((each for each in view.cells if each.copied), key=lambda each: each.z or 0.0)
    return Exhibit(
        view=view,
        sentences=list(dict.fromkeys(each.words for each in view.signs)),
        telling=telling,
        copied=copied[:CELLS],
        folded=[each for each in view.matches if each not in telling],
        findings=view.findings,
        opened=opened,
    )
