"""The page of your team in a competition: members, invitations and quota."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from fastapi.responses import Response

from api.http.dependencies import AppRateLimiter, AppSettings, Now, RowId, SignedIn, Transactions
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.quota import describe_quota
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions.competition_state import visible_state
from scorer.db.announcements import messages_to
from scorer.db.teams import members
from scorer.teams import invitations, quotas, storage, teams

router = Router(prefix="/competitions/{slug}/team", include_in_schema=False)
DONE_MESSAGES = {
    "created": "Team created.",
    "renamed": "Team renamed.",
    "asked": "Invitation sent. The answer will appear here.",
    "withdrawn": "Invitation withdrawn.",
    "accepted": "Invitation accepted. Welcome to the team.",
    "declined": "Invitation declined.",
    "left": "You have left the team.",
}


@dataclass(frozen=True)
class TeamContext:
    """A request for the team page."""

    slug: str
    begin: Transactions
    viewer: SignedIn
    now: Now
    settings: AppSettings

    def show(self, **outcome: Any) -> Response:
        account = self.viewer.account
        with self.begin() as session:
            acting = Acting(session, account, self.now)
            state = visible_state(acting, self.slug)
            team = members.load_team(session, state.competition.id, account.id)
            return render_page(
                "teams/show.html",
                viewer=self.viewer,
                state=state,
                roster=teams.own_roster(session, state, account) if team is not None else None,
                entered=members.has_entered(session, state.competition.id, account.id),
                received=invitations.received_invitations(session, state, account),
                messages=messages_to(session, team.id) if team is not None else (),
                quota=describe_quota(quotas.load_quota(session, state, account, now=self.now)),
                storage=storage.load_usage(acting, state.competition),
                storage_limit=self.settings.max_team_bytes,
                changeable=teams.is_changeable(state, self.now),
                max_length=teams.MAX_TEAM_NAME_LENGTH,
                now=self.now,
                **outcome,
            )

    def act(self, action: Callable[[Acting], object], *, place: str, done: str) -> Response:
        """Run ``action`` in a transaction and redirect. After a refusal, show the page with the error at ``place``."""
        with refusal_on(self.show, place=place), self.begin() as session:
            action(Acting(session, self.viewer.account, self.now))
        return see_other(f"/competitions/{self.slug}/team?done={done}")


CurrentTeam = Annotated[TeamContext, Depends()]


@router.api_route("", methods=["GET", "HEAD"])
def show_team(page: CurrentTeam, done: str = "") -> Response:
    return page.show(done=DONE_MESSAGES.get(done))


@router.post("")
def create_team(page: CurrentTeam, fields: FormFields) -> Response:
    name = text(fields, "name")
    return page.act(lambda acting: teams.create(acting, page.slug, name), place="name", done="created")


@router.post("/name")
def rename_team(page: CurrentTeam, fields: FormFields) -> Response:
    name = text(fields, "name")
    return page.act(lambda acting: teams.rename(acting, page.slug, name), place="name", done="renamed")


@router.post("/invitations")
def invite_person(page: CurrentTeam, fields: FormFields, rates: AppRateLimiter) -> Response:
    handle = text(fields, "handle")
    rates.hit("team-invitation", page.viewer.account.id)
    return page.act(lambda acting: invitations.invite_person(acting, page.slug, handle), place="handle", done="asked")


@router.post("/merges")
def propose_merge(page: CurrentTeam, fields: FormFields, rates: AppRateLimiter) -> Response:
    name = text(fields, "team")
    rates.hit("team-invitation", page.viewer.account.id)
    return page.act(lambda acting: invitations.propose_merge(acting, page.slug, name), place="merge", done="asked")


@router.post("/invitations/{invitation_id}/withdrawal")
def withdraw_invitation(page: CurrentTeam, invitation_id: RowId) -> Response:
    return page.act(
        lambda acting: invitations.withdraw(acting, page.slug, invitation_id), place="invitations", done="withdrawn"
    )


@router.post("/invitations/{invitation_id}/answer")
def answer_invitation(page: CurrentTeam, invitation_id: RowId, fields: FormFields) -> Response:
    """Accept an invitation (``accept`` is ``yes``) or decline it."""
    accept = text(fields, "accept") == "yes"
    return page.act(
        lambda acting: invitations.answer(acting, page.slug, invitation_id, accept=accept),
        place="received",
        done="accepted" if accept else "declined",
    )


@router.post("/leaving")
def leave_team(page: CurrentTeam) -> Response:
    return page.act(lambda acting: teams.leave(acting, page.slug), place="leave", done="left")
