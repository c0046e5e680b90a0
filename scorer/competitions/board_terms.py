"""The terms that a board is published with: now, and at a past moment by the audit log, which has all changes."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db import audit_log
from scorer.db.tables import Competition
from scorer.ranking.awards import Awards

CHANGED = "competition.changed"
"""The action of changing a competition, as the audit log names it."""


def terms_of(state: CompetitionState) -> tuple[object, ...]:
    """What is published with a board beside its ranks: medals and prizes, and for how long teams may appeal."""
    return *state.awards, state.competition.appeal_days


def awards_at(session: Session, competition: Competition, at: datetime) -> Awards:
    """What ranks won at ``at``: what the first change after it has changed, else what they win now."""
    subject = f"competition:{competition.slug}"
    medals, prizes = (
        audit_log.first_value_before(session, CHANGED, subject, name=name, after=at) for name in ("medals", "prizes")
    )
    return Awards(competition.medals if medals is None else medals, competition.prizes if prizes is None else prizes)
