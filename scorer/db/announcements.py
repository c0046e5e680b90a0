"""SQL for what organizers tell people: announcements, messages to teams, requests for code."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.tables import Announcement, CompetitionRole, RulesAcceptance, TeamMessage
from scorer.db.teams import merges


def announcements_of(
    session: Session, competition_id: int, *, before: int | None = None, limit: int
) -> Sequence[Announcement]:
    """A competition's newest announcements, newest first; ``before``: only those older than the one with this id."""
    query = select(Announcement).where(Announcement.competition_id == competition_id)
    if before is not None:
        query = query.where(Announcement.id < before)
    return session.scalars(query.order_by(Announcement.id.desc()).limit(limit)).all()


def readers_of(session: Session, competition_id: int) -> Sequence[int]:
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
    """The messages to a team and to those merged into it, newest first: at most ``limit``, and if ``before`` is given
    only those older than the one with this id."""
    teams = (team_id, *merges.absorbed_ids(session, team_id))
    messages = select(TeamMessage).where(TeamMessage.team_id.in_(teams))
    if before is not None:
        messages = messages.where(TeamMessage.id < before)
    return session.scalars(messages.order_by(TeamMessage.id.desc()).limit(limit)).all()
