"""The generator of an entry on a page: what came of it, and the form to hand one in."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from api.rendering.charts.recovery_errors import RecoveryErrorsChart, recovery_errors_chart_of
from api.schemas.evidence.generators import GeneratorView, visible_generator_view
from scorer.db.tables import Account, Submission
from scorer.errors import KennelError, TooMany
from scorer.evidence import generator_uploads
from scorer.onnx_files import MAX_LATENT_DIMENSION


@dataclass(frozen=True)
class Section:
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


def section_of(session: Session, submission: Submission, account: Account, *, asked: bool, now: datetime) -> Section:
    """The section for this person; ``asked``: with the form, if they may hand one in."""
    found = visible_generator_view(session, submission, account)
    errors = recovery_errors_chart_of(found.result.report) if found is not None and found.result is not None else None
    refused = _refused(session, submission, account, now) if asked else None
    later = refused.message if isinstance(refused, TooMany) else None
    return Section(found, errors, asked and refused is None, later)


def _refused(session: Session, submission: Submission, account: Account, now: datetime) -> KennelError | None:
    try:
        generator_uploads.require_generator_change(session, submission.id, account, now)
    except KennelError as error:
        return error
    return None
