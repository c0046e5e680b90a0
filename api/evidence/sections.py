"""The sections with evidence and the generator on an entry's page and its review page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from api.evidence.generators.views import GeneratorView, generator_view
from api.evidence.views import CellView, EvidenceView, MatchesView, evidence_view
from api.rendering.charts.recovery_errors import RecoveryErrorsChart, build_recovery_errors_chart
from scorer.accounts.roles import is_reviewer
from scorer.acting import Acting
from scorer.db.tables import Account, Submission
from scorer.errors import KennelError, TooMany
from scorer.evidence import generator_audits, generator_uploads
from scorer.evidence.examples import NEAR_DUPLICATE_GROUPS, has_sign
from scorer.findings.summary import gravity
from scorer.generators.onnx_files import MAX_CLASSES, MAX_LATENT_DIMENSION
from scorer.lifecycle import TRACK_KINDS

MAX_CELLS = 3
"""How many copied cells to show: those with the smallest Z."""


@dataclass(frozen=True)
class EvidenceSection:
    """One track's evidence.

    ``sentences`` are those of its signs, without repetitions. ``notable_matches`` are the groups with a sign; of groups
    near training images, only the first. ``copied`` are the cells with the clearest copying.
    """

    view: EvidenceView
    sentences: Sequence[str]
    notable_matches: Sequence[MatchesView]
    copied: Sequence[CellView]
    collapsed_matches: Sequence[MatchesView]
    is_open: bool
    """Whether it is expanded when the page loads."""
    is_gravest: bool
    """Whether its summary is the gravest of all tracks."""


def build_evidence_sections(session: Session, submission: Submission, account: Account) -> list[EvidenceSection]:
    """The evidence on every track. The track with the gravest summary is open if it has a sign of copying."""
    views = [evidence_view(session, submission, kind, account=account) for kind in TRACK_KINDS]
    summaries = [view.summary for view in views if view.summary is not None]
    gravest = min(summaries, key=lambda summary: gravity(summary.verdict, summary.share), default=None)
    return [_evidence_section(view, is_gravest=view.summary is not None and view.summary is gravest) for view in views]


def _evidence_section(view: EvidenceView, *, is_gravest: bool) -> EvidenceSection:
    signs = {sign.name for sign in view.signs}
    with_sign = [matches for matches in view.matches if has_sign(matches.name, signs)]
    overlapping = [matches for matches in with_sign if matches.name in NEAR_DUPLICATE_GROUPS]
    notable_matches = [matches for matches in with_sign if matches not in overlapping[1:]]
    copied = sorted((cell for cell in view.cells if cell.copied), key=lambda cell: cell.z or 0.0)
    return EvidenceSection(
        view=view,
        sentences=list(dict.fromkeys(sign.words for sign in view.signs)),
        notable_matches=notable_matches,
        copied=copied[:MAX_CELLS],
        collapsed_matches=[matches for matches in view.matches if matches not in notable_matches],
        is_open=is_gravest and bool(view.signs),
        is_gravest=is_gravest,
    )


@dataclass(frozen=True)
class GeneratorSection:
    """The generator to audit, if there is one. ``not_yet_reason`` says why no other file is accepted yet, if none is.
    ``may_audit``: whether this person may start the audit of an entry that is a generator."""

    upload: GeneratorView | None
    errors: RecoveryErrorsChart | None
    may_upload: bool
    not_yet_reason: str | None
    may_audit: bool
    max_dimensions: int = MAX_LATENT_DIMENSION
    max_classes: int = MAX_CLASSES

    @property
    def is_shown(self) -> bool:
        return self.upload is not None or self.may_upload or self.may_audit or self.not_yet_reason is not None


def build_generator_section(acting: Acting, submission: Submission) -> GeneratorSection:
    status = generator_audits.audit_status(acting.session, submission, acting.actor)
    upload = None if status is None else generator_view(submission.id, status)
    result = upload.result if upload is not None else None
    errors = build_recovery_errors_chart(result.report) if result is not None else None
    refused = _find_refusal(lambda: generator_uploads.require_generator_change(acting, submission.id))
    not_yet_reason = refused.message if isinstance(refused, TooMany) else None
    may_audit = (
        (upload is None or upload.state == "failed")
        and is_reviewer(acting.actor, submission.competition_id)
        and _find_refusal(lambda: generator_uploads.require_entry_audit(acting.session, submission)) is None
    )
    return GeneratorSection(upload, errors, refused is None, not_yet_reason, may_audit)


def _find_refusal(require: Callable[[], object]) -> KennelError | None:
    try:
        require()
    except KennelError as error:
        return error
    return None
