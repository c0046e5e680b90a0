"""Team invitations: a team asks a person to join, or another team to merge into it. They accept or decline.

The leader of the other team accepts a merge (:mod:`scorer.teams.merges`).
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import rules
from scorer.competitions.competition_state import CompetitionState
from scorer.db import accounts
from scorer.db.tables import Account, Team, TeamInvitation
from scorer.db.teams import members
from scorer.errors import Conflict, Forbidden, NotFound
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.teams import merges, teams
from scorer.teams.teams import Roster

INVITED = """{name} ({handle}) invites you to join the team "{team}" in the competition "{competition}". \
Accept or decline on your team page."""
ASKED_TO_MERGE = """{name} ({handle}) invites your team "{own}" to merge into the team "{team}" in the competition \
"{competition}". All members and entries of your team would then belong to "{team}". Only your team's leader, \
{leader}, can accept or decline."""


def invite_person(acting: Acting, slug: str, handle: str) -> TeamInvitation:
    """Invite a person to the team that the actor leads and notify them; idempotent while the invitation is open."""
    state, roster = _asking(acting, slug)
    person = accounts.account_by_handle(acting.session, handle.strip())
    if person is None:
        raise NotFound("no-account", f"No account has the handle {handle.strip()!r}. Check the spelling.")
    if any(member.id == person.id for member in roster.members):
        raise Conflict("is-member", f"{person.name} is already in your team.")
    teams.require_place(state, len(roster.members) + 1)
    earlier = members.open_invitation(acting.session, roster.team.id, account_id=person.id)
    if earlier is not None:
        return earlier
    invitation = _add(acting, roster.team, account=person)
    subject = f"{acting.actor.name} invites you to join the team {roster.team.name}"
    notice = _notice(acting, state, roster.team, subject=subject, text=INVITED)
    notices.notify(acting.session, notice, acting.now, accounts=[person.id])
    return invitation


def propose_merge(acting: Acting, slug: str, name: str) -> TeamInvitation:
    """Ask another team to merge into the team that the actor leads; idempotent while the request is open."""
    state, roster = _asking(acting, slug)
    other = members.competing_team(acting.session, state.competition.id, name.strip())
    other_members = members.load_members(acting.session, other.id) if other is not None else []
    if other is None or not other_members:
        raise NotFound("no-team", f"There is no team {name.strip()!r} in this competition.")
    if other.id == roster.team.id:
        raise Conflict("same-team", "This is your own team. Enter the name of another team.")
    merges.require_mergeable(acting.session, state, roster.team, other=other, now=acting.now)
    earlier = members.open_invitation(acting.session, roster.team.id, invited_team_id=other.id)
    if earlier is not None:
        return earlier
    invitation = _add(acting, roster.team, invited_team=other)
    subject = f"{acting.actor.name} invites your team to merge into {roster.team.name}"
    names = {"own": other.name, "leader": other_members[0].name}
    notice = _notice(acting, state, roster.team, subject=subject, text=ASKED_TO_MERGE, **names)
    notices.notify(acting.session, notice, acting.now, teams=[other.id])
    return invitation


def received_invitations(session: Session, state: CompetitionState, account: Account) -> Sequence[TeamInvitation]:
    """Return the open invitations to an account and to its team, oldest first."""
    team = members.load_team(session, state.competition.id, account.id)
    return members.invitations_sent_to(
        session, state.competition.id, account.id, team_id=team.id if team is not None else None
    )


def withdraw(acting: Acting, slug: str, invitation_id: int) -> None:
    """Withdraw an invitation of the team that the actor leads; idempotent."""
    state = teams.lock_changeable(acting, slug)
    roster = teams.led_roster(acting.session, state, acting.actor)
    invitation = members.lock_invitation(acting.session, state.competition.id, invitation_id)
    if invitation is None or invitation.team_id != roster.team.id:
        raise NotFound("no-invitation", "Your team has no such invitation.")
    if invitation.state != "withdrawn":
        _require_unanswered(invitation)
        _close(invitation, "withdrawn", acting.actor, now=acting.now)


def answer(acting: Acting, slug: str, invitation_id: int, *, accept: bool) -> TeamInvitation:
    """Accept or decline an invitation to the account, or to the team that it leads; idempotent for the same answer."""
    state = teams.lock_changeable(acting, slug)
    invitation = members.lock_invitation(acting.session, state.competition.id, invitation_id)
    if invitation is None or not _is_for(acting.session, state, invitation, account=acting.actor):
        raise NotFound("no-invitation", "You have no such invitation.")
    wanted = "accepted" if accept else "declined"
    if invitation.state == wanted:
        return invitation
    _require_unanswered(invitation)
    if accept:
        teams.require_before_deadline(state, acting.now)
        if invitation.invited_team is not None:
            merges.merge_teams(acting, state, invitation.team, other=invitation.invited_team)
        else:
            _enter(acting, state, invitation.team)
    _close(invitation, wanted, acting.actor, now=acting.now)
    acting.session.flush()
    return invitation


def _asking(acting: Acting, slug: str) -> tuple[CompetitionState, Roster]:
    state = teams.lock_changeable(acting, slug)
    teams.require_before_deadline(state, acting.now)
    return state, teams.led_or_new_team(acting, state)


def _is_for(session: Session, state: CompetitionState, invitation: TeamInvitation, *, account: Account) -> bool:
    if invitation.invited_team_id is None:
        return invitation.account_id == account.id
    if invitation.answered_by == account.id:
        return True  # after their answer, they are in the merged team
    team = members.load_team(session, state.competition.id, account.id)
    if team is None or team.id != invitation.invited_team_id:
        return False
    leader = members.load_members(session, team.id)[0]
    if leader.id != account.id:
        raise Forbidden("leader-needed", f"Only the leader of your team, {leader.name}, can do this.")
    return True


def _require_unanswered(invitation: TeamInvitation) -> None:
    if invitation.state != "open":
        raise Conflict("answered", f"This invitation has already been {invitation.state}.")


def _close(invitation: TeamInvitation, state: str, account: Account, *, now: datetime) -> None:
    invitation.state = state
    invitation.answered_at = now
    invitation.answered_by = account.id


def _enter(acting: Acting, state: CompetitionState, team: Team) -> None:
    """Add a person to a team. If they are alone in a team without submissions, they leave it."""
    rules.require_entrant(acting.session, state.competition, acting.actor)
    old = members.load_team(acting.session, state.competition.id, acting.actor.id)
    members.lock_teams(acting.session, [team.id, *([old.id] if old is not None else [])])
    if old is not None and old.id == team.id:
        return
    if old is not None and len(members.load_members(acting.session, old.id)) > 1:
        raise Conflict("in-a-team", f"You are in the team {old.name!r}. Leave it first.")
    if members.has_entered(acting.session, state.competition.id, acting.actor.id):
        raise Conflict(
            "has-entries",
            "You already have entries in this competition, and they must move with you. Ask the leader of "
            f"{team.name!r} to propose a merge with your team.",
        )
    teams.require_place(state, len(members.load_members(acting.session, team.id)) + 1)
    if old is not None:
        teams.depart(acting.session, old, acting.actor, now=acting.now)
    teams.join(acting.session, team, [acting.actor], now=acting.now)


def _add(
    acting: Acting, team: Team, *, account: Account | None = None, invited_team: Team | None = None
) -> TeamInvitation:
    invitation = TeamInvitation(
        competition_id=team.competition_id,
        team_id=team.id,
        account_id=account.id if account is not None else None,
        invited_team_id=invited_team.id if invited_team is not None else None,
        invited_by=acting.actor.id,
        state="open",
        created_at=acting.now,
    )
    acting.session.add(invitation)
    acting.session.flush()
    return invitation


def _notice(
    acting: Acting, state: CompetitionState, team: Team, *, subject: str, text: str, **names: str
) -> NoticeText:
    """Return the notice of an invitation. ``text`` has placeholders for the actor, the team and the competition."""
    who, competition = acting.actor, state.competition
    body = text.format(name=who.name, handle=who.handle, team=team.name, competition=competition.title, **names)
    return NoticeText(Kind.INVITATION, subject, body, f"/competitions/{competition.slug}/team")
