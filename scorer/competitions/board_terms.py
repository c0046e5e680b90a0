"""The terms that a board is published with, now and at a past moment. The audit log has all changes."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db import audit_log
from scorer.db.tables import Competition
from scorer.ranking.awards import Awards

CHANGED = "competition.changed"
"""The audit log's name for changing a competition."""


def list_board_rules(state: CompetitionState) -> tuple[object, ...]:
    """Return the parts of a published board other than its ranks: medals, prizes and the appeal period."""
    return *state.awards, state.competition.appeal_days


def awards_at(session: Session, competition: Competition, at: datetime) -> Awards:
    """Return the awards at a past moment: the values before the first later change, or the current ones."""
    subject = f"competition:{competition.slug}"
    medals, prizes = (
        audit_log.first_value_before(session, CHANGED, subject, name=name, after=at) for name in ("medals", "prizes")
    )
    return Awards(competition.medals if medals is None else medals, competition.prizes if prizes is None else prizes)
