"""Teams: founding, naming, asking people and teams in, leaving; and what a team may still enter."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from api.http.dependencies import AppRateLimiter, CurrentUser, DbSession, Now, Submitter
from api.schemas.teams import Answer, LimitsView, MemberView, NewTeamInvitation, TeamInvitationView, TeamName, TeamView
from scorer.competitions.competition_state import CompetitionState, visible_state
from scorer.db.tables import TeamInvitation
from scorer.teams import invitations, quotas, teams
from scorer.teams.quotas import Quota
from scorer.teams.teams import Roster

router = APIRouter(prefix="/competitions/{slug}", tags=["teams"])
InvitationId = Annotated[int, Path(ge=1, le=2**62)]


@router.post("/teams", status_code=201)
def create(slug: str, body: TeamName, session: DbSession, account: Submitter, now: Now) -> TeamView:
    """Found a team. Without one, the first entry makes a team of one."""
    roster = teams.create(session, slug, body.name, account=account, now=now)
    return _view(visible_state(session, slug, account, now), roster)


@router.get("/team")
def show(slug: str, session: DbSession, account: CurrentUser, now: Now) -> TeamView:
    """One's own team."""
    state = visible_state(session, slug, account, now)
    return _view(state, teams.own_roster(session, state, account))


@router.patch("/team")
def rename(slug: str, body: TeamName, session: DbSession, account: Submitter, now: Now) -> TeamView:
    """Give the team that one leads another name."""
    roster = teams.rename(session, slug, body.name, account=account, now=now)
    return _view(visible_state(session, slug, account, now), roster)


@router.delete("/team/membership", status_code=204)
def leave(slug: str, session: DbSession, account: Submitter, now: Now) -> Response:
    """Leave one's team. Whoever has entered stays, as their entries do."""
    teams.leave(session, slug, account=account, now=now)
    return Response(status_code=204)


@router.post("/team/invitations", status_code=201)
def invite(
    slug: str,
    body: NewTeamInvitation,
    session: DbSession,
    account: Submitter,
    rates: AppRateLimiter,
    now: Now,
) -> TeamInvitationView:
    """Ask a person to join the team that one leads (`handle`), or another team to merge into it (`team`). They
    get a notice. Asking again is the same."""
    rates.hit("team-invitation", account.id)
    who, ask = (
        (body.handle, invitations.invite_person) if body.handle is not None else (body.team, invitations.propose_merge)
    )
    return _invitation(ask(session, slug, who or "", author=account, now=now))


@router.delete("/team/invitations/{invitation_id}", status_code=204)
def withdraw(slug: str, invitation_id: InvitationId, session: DbSession, account: Submitter, now: Now) -> Response:
    """Take back what the team that one leads has asked."""
    invitations.withdraw(session, slug, invitation_id, author=account, now=now)
    return Response(status_code=204)


@router.get("/invitations")
def received(slug: str, session: DbSession, account: CurrentUser, now: Now) -> list[TeamInvitationView]:
    """What oneself, or one's team, is asked, oldest first."""
    state = visible_state(session, slug, account, now)
    return [_invitation(each) for each in invitations.received_invitations(session, state, account)]


@router.put("/invitations/{invitation_id}/answer")
def answer(
    slug: str, invitation_id: InvitationId, body: Answer, session: DbSession, account: Submitter, now: Now
) -> TeamInvitationView:
    """Accept or decline. A merge is answered by the team's leader; then all its members and entries belong to the team
    that asked."""
    done = invitations.answer(session, slug, invitation_id, accept=body.accept, account=account, now=now)
    return _invitation(done)


@router.get("/limits")
def show_limits(slug: str, session: DbSession, account: CurrentUser, now: Now) -> LimitsView:
    """What one's team has used of its limits, and when the next entry is possible."""
    state = visible_state(session, slug, account, now)
    return _limits_view(quotas.quota_of(session, state, account, now=now))


def _limits_view(allowance: Quota) -> LimitsView:
    return LimitsView(
        daily_limit=allowance.limits.daily,
        used_today=allowance.usage.charged,
        remaining_today=allowance.remaining,
        pending_limit=allowance.limits.pending,
        pending=allowance.usage.pending,
        rejected_limit=allowance.limits.rejected,
        rejected_today=allowance.usage.rejected,
        refusal=allowance.refusal.value if allowance.refusal else None,
        resets_at=allowance.resets_at,
        next_entry_at=allowance.next_entry_at,
    )


def _view(state: CompetitionState, roster: Roster) -> TeamView:
    return TeamView(
        name=roster.team.name,
        members=[
            MemberView(handle=each.handle, name=each.name, leader=each.id == roster.leader.id)
            for each in roster.members
        ],
        max_size=state.competition.max_team_size,
        invitations=[_invitation(each) for each in roster.invitations],
    )


def _invitation(invitation: TeamInvitation) -> TeamInvitationView:
    person, other = invitation.account, invitation.invited_team
    return TeamInvitationView(
        id=invitation.id,
        kind="join" if other is None else "merge",
        team=invitation.team.name,
        handle=person.handle if person is not None else None,
        invited_team=other.name if other is not None else None,
        invited_by=invitation.inviter.handle,
        state=invitation.state,
        created_at=invitation.created_at,
    )
