"""Teams: creating, renaming, invitations, merges and leaving, and the team's quota and picks."""

from api.http.dependencies import (
    ActingOrganizer,
    ActingReader,
    ActingSubmitter,
    AppRateLimiter,
    AppSettings,
    RowId,
)
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.teams.views import (
    Answer,
    LimitsView,
    MemberView,
    NewPicks,
    NewTeamInvitation,
    PicksView,
    StorageView,
    TeamInvitationPage,
    TeamInvitationView,
    TeamName,
    TeamStorageView,
    TeamView,
)
from scorer.competitions.competition_state import CompetitionState, grace_end, visible_state
from scorer.db.tables import TeamInvitation
from scorer.teams import final_picks, invitations, quotas, storage, teams
from scorer.teams.final_picks import FinalEntries
from scorer.teams.teams import Roster

router = ApiRouter(prefix="/competitions/{slug}", tags=["teams"])


@router.post("/teams", status_code=201)
def create(slug: str, body: TeamName, acting: ActingSubmitter) -> TeamView:
    """Create a team. Without a team, your first submission makes you a team of one."""
    roster = teams.create(acting, slug, body.name)
    return _view(visible_state(acting, slug), roster)


@router.get("/team")
def show(slug: str, acting: ActingReader) -> TeamView:
    """Get your team."""
    state = visible_state(acting, slug)
    return _view(state, teams.own_roster(acting.session, state, acting.actor))


@router.patch("/team")
def rename(slug: str, body: TeamName, acting: ActingSubmitter) -> TeamView:
    """Rename the team that you lead."""
    roster = teams.rename(acting, slug, body.name)
    return _view(visible_state(acting, slug), roster)


@router.delete("/team/membership", status_code=204)
def leave(slug: str, acting: ActingSubmitter) -> None:
    """Leave your team. You can't leave after you have made a submission."""
    teams.leave(acting, slug)


@router.post("/team/invitations", status_code=201)
def invite(slug: str, body: NewTeamInvitation, acting: ActingSubmitter, rates: AppRateLimiter) -> TeamInvitationView:
    """Invite a person to join the team that you lead (`handle`), or another team to merge into it (`team`). They are
    notified. Inviting them again has no effect."""
    rates.hit("team-invitation", acting.actor.id)
    who, ask = (
        (body.handle, invitations.invite_person) if body.handle is not None else (body.team, invitations.propose_merge)
    )
    return _invitation(ask(acting, slug, who or ""))


@router.delete("/team/invitations/{invitation_id}", status_code=204)
def withdraw(slug: str, invitation_id: RowId, acting: ActingSubmitter) -> None:
    """Withdraw an invitation of the team that you lead."""
    invitations.withdraw(acting, slug, invitation_id)


@router.get("/invitations")
def received(slug: str, acting: ActingReader, wanted: Paging) -> TeamInvitationPage:
    """List the open invitations to you and your team, oldest first."""
    state = visible_state(acting, slug)
    page = wanted.slice_all(invitations.received_invitations(acting.session, state, acting.actor))
    return TeamInvitationPage(
        invitations=[_invitation(invitation) for invitation in page.rows], next_after=page.next_after
    )


@router.put("/invitations/{invitation_id}/answer")
def answer(slug: str, invitation_id: RowId, body: Answer, acting: ActingSubmitter) -> TeamInvitationView:
    """Accept or decline an invitation. Only your team's leader can answer a proposed merge. Accepting it moves all
    members and submissions of your team to the team that proposed it."""
    invitation = invitations.answer(acting, slug, invitation_id, accept=body.accept)
    return _invitation(invitation)


@router.get("/limits")
def show_limits(slug: str, acting: ActingReader, settings: AppSettings) -> LimitsView:
    """Get your team's limits and usage, and when it can make its next submission."""
    state = visible_state(acting, slug)
    quota = quotas.load_quota(acting.session, state, acting.actor, now=acting.now)
    used = storage.load_usage(acting, state.competition)
    return LimitsView(
        daily_limit=quota.limits.daily_limit,
        used_today=quota.usage.charged,
        remaining_today=quota.remaining,
        pending_limit=quota.limits.pending_limit,
        pending=quota.usage.pending,
        rejected_limit=quota.limits.rejected_limit,
        rejected_today=quota.usage.rejected,
        refusal=quota.refusal.value if quota.refusal else None,
        resets_at=quota.resets_at,
        next_entry_at=quota.next_entry_at,
        stored_bytes=used.stored,
        staged_bytes=used.staged,
        max_bytes=settings.max_team_bytes,
    )


@router.get("/storage")
def show_storage(slug: str, acting: ActingOrganizer, settings: AppSettings) -> StorageView:
    """Get the storage that a competition uses, and the teams that use the most. Organizers only."""
    competition = visible_state(acting, slug).competition
    used = storage.load_competition_usage(acting.session, competition, acting.now)
    return StorageView(
        stored_bytes=used.stored,
        staged_bytes=used.staged,
        max_bytes=settings.max_competition_bytes,
        max_team_bytes=settings.max_team_bytes,
        largest_teams=[
            TeamStorageView(team=team, stored_bytes=stored)
            for team, stored in storage.largest_teams(acting.session, competition)
        ],
    )


def _view(state: CompetitionState, roster: Roster) -> TeamView:
    return TeamView(
        name=roster.team.name,
        members=[
            MemberView(handle=member.handle, name=member.name, leader=member.id == roster.leader.id)
            for member in roster.members
        ],
        max_size=state.competition.max_team_size,
        invitations=[_invitation(invitation) for invitation in roster.invitations],
    )


def _invitation(invitation: TeamInvitation) -> TeamInvitationView:
    person, other = invitation.account, invitation.invited_team
    return TeamInvitationView.of(
        invitation,
        kind="join" if other is None else "merge",
        team=invitation.team.name,
        handle=person.handle if person is not None else None,
        invited_team=other.name if other is not None else None,
        invited_by=invitation.inviter.handle,
    )


picks = ApiRouter(tags=["results"])


@picks.get("/competitions/{slug}/picks")
def show_picks(slug: str, acting: ActingReader) -> PicksView:
    """Get the submissions that count for your team's final rank: its picks, or otherwise its best public ones."""
    state = visible_state(acting, slug)
    team = teams.own_team(acting.session, state, acting.actor)
    return _picks(state, final_picks.load_final_entries(acting.session, state, team))


@picks.put("/competitions/{slug}/picks")
def pick(slug: str, body: NewPicks, acting: ActingSubmitter) -> PicksView:
    """Pick the submissions that count for your team's final rank. They may still be waiting for their score. You can
    change the picks until the last uploads have finished. An empty list removes them."""
    finals = final_picks.pick(acting, slug, body.submissions)
    return _picks(visible_state(acting, slug), finals)


def _picks(state: CompetitionState, finals: FinalEntries) -> PicksView:
    chosen = finals.chosen
    return PicksView(
        submissions=[entry.id for entry in finals.picks],
        chosen=chosen is not None,
        most=state.competition.final_picks,
        until=grace_end(state.competition),
        picked_by=chosen.author.handle if chosen else None,
        picked_at=chosen.created_at if chosen else None,
    )
