"""SQL for announcements' readers and messages to teams."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.newest_rows import newest_rows
from scorer.db.tables import CompetitionRole, RulesAcceptance, TeamMessage
from scorer.db.teams import merges


def load_readers(session: Session, competition_id: int) -> Sequence[int]:
    """The ids of the accounts that have accepted a competition's rules or hold a role in it."""
    accepted = select(RulesAcceptance.account_id).where(RulesAcceptance.competition_id == competition_id)
    judging = select(CompetitionRole.account_id).where(
        CompetitionRole.competition_id == competition_id,
        CompetitionRole.accepted_at.is_not(None),
        CompetitionRole.ended_at.is_(None),
    )
    return session.scalars(accepted.union(judging)).all()


def messages_to(
    session: Session, team_id: int, *, before: int | None = None, limit: int | None = None
) -> Sequence[TeamMessage]:
    """The messages to a team and to teams merged into it that are older than the id ``before``, newest first."""
    teams = (team_id, *merges.absorbed_ids(session, team_id))
    return newest_rows(session, TeamMessage, TeamMessage.team_id.in_(teams), before=before, limit=limit)
