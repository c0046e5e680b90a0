"""Messages from organizers to a team. The members are notified, and both sides can read the message later."""

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Team, TeamMessage
from scorer.db.teams import members, merges
from scorer.errors import Invalid, NotFound
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText

MAX_TEXT_LENGTH = 10_000


def find_team(session: Session, state: CompetitionState, team_id: int) -> Team:
    """Return a team, or the team that it was merged into; ``NotFound`` if the competition has no such team."""
    team = session.get(Team, team_id)
    if team is None or team.competition_id != state.competition.id or team.benchmark:
        raise NotFound("no-team", f"{state.competition.title} has no team with the ID {team_id}.")
    return merges.current_team(session, team.id)


def write(acting: Acting, state: CompetitionState, team_id: int, *, text: str) -> TeamMessage:
    """Send a message to a team. ``NotFound`` for an unknown or empty team, ``Invalid`` without a text."""
    team = find_team(acting.session, state, team_id)
    if not members.load_members(acting.session, team.id):
        raise NotFound("no-members", f"The team {team.name!r} has no members who could read a message.")
    if not text.strip():
        raise Invalid("no-text", "Write a message.")
    message = TeamMessage(team_id=team.id, text=text.strip())
    acting.add(message)
    competition = state.competition
    audit_log.record_action(
        acting, "message.sent", f"team:{competition.slug}/{team.id}", after={"team": team.name, "text": message.text}
    )
    subject = f"{competition.title}: message to {team.name}"
    notice = NoticeText(Kind.MESSAGE, subject, message.text, f"/competitions/{competition.slug}/team#messages")
    notices.notify(acting.session, notice, acting.now, teams=[team.id])
    return message
