"""One's team in a competition: its members, whom it asks, what it is asked, what it may still enter."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import AppRateLimiter, Caller, Now, SignedIn, Transaction, Transactions
from api.http.forms import FormFields, text
from api.http.problem_details import headers_of, status_of
from api.rendering.quota import quota_message_of
from api.rendering.templates import render_page, see_other
from scorer.competitions.competition_state import visible_state
from scorer.errors import KennelError
from scorer.teams import invitations, quotas, teams

router = APIRouter(prefix="/competitions/{slug}/team", include_in_schema=False)
InvitationId = Annotated[int, Path(ge=1, le=2**62)]
DONE_MESSAGES = {
    "founded": "Your team is founded.",
    "renamed": "Your team has its new name.",
    "asked": "It is asked; here you see whether there is an answer yet.",
    "withdrawn": "The invitation is withdrawn.",
    "accepted": "Welcome to the team.",
    "declined": "The invitation is declined.",
    "left": "You have left the team.",
}


@dataclass(frozen=True)
class TeamContext:
    """The page at one moment, with whoever sits before it."""

    slug: str
    begin: Transaction
    viewer: Caller
    now: datetime

    def show(self, *, status: int = 200, headers: dict[str, str] | None = None, **told: Any) -> Response:
        """The team as it is, with what just happened."""
        account = self.viewer.account
        with self.begin() as session:
            state = visible_state(session, self.slug, account, self.now)
            team = teams.find_own_team(session, state, account)
            return render_page(
                "teams/show.html",
                status=status,
                headers=headers,
                viewer=self.viewer,
                state=state,
                roster=teams.own_roster(session, state, account) if team is not None else None,
                entered=teams.has_entered(session, state, account),
                received=invitations.received_invitations(session, state, account),
                room=quota_message_of(quotas.quota_of(session, state, account, now=self.now)),
                changeable=teams.is_changeable(state, self.now),
                longest=teams.MAX_TEAM_NAME_LENGTH,
                now=self.now,
                **{"error": None, "place": None, "done": None, **told},
            )

    def act(self, doing: Callable[[Session], object], *, place: str, done: str) -> Response:
        """Do it, all or nothing; or show in its ``place`` why it cannot be done."""
        try:
            with self.begin() as session:
                doing(session)
        except KennelError as error:
            return self.show(status=status_of(error), headers=headers_of(error), error=error.message, place=place)
        return see_other(f"/competitions/{self.slug}/team?done={done}")


def team_context(slug: str, begin: Transactions, viewer: SignedIn, now: Now) -> TeamContext:
    """The page as it is for this request."""
    return TeamContext(slug, begin, viewer, now)


CurrentTeam = Annotated[TeamContext, Depends(team_context)]


@router.api_route("", methods=["GET", "HEAD"])
def show_team(here: CurrentTeam, done: str = "") -> Response:
    """The team."""
    return here.show(done=DONE_MESSAGES.get(done))


@router.post("")
def create_team(here: CurrentTeam, fields: FormFields) -> Response:
    """Found a team."""
    name, account = text(fields, "name"), here.viewer.account
    return here.act(
        lambda session: teams.create(session, here.slug, name, account=account, now=here.now),
        place="name",
        done="founded",
    )


@router.post("/name")
def rename_team(here: CurrentTeam, fields: FormFields) -> Response:
    """Give the team another name."""
    name, account = text(fields, "name"), here.viewer.account
    return here.act(
        lambda session: teams.rename(session, here.slug, name, account=account, now=here.now),
        place="name",
        done="renamed",
    )


@router.post("/invitations")
def invite_person(here: CurrentTeam, fields: FormFields, rates: AppRateLimiter) -> Response:
    """Ask a person in."""
    handle, author = text(fields, "handle"), here.viewer.account
    rates.take("team-invitation", author.id)
    return here.act(
        lambda session: invitations.invite_person(session, here.slug, handle, author=author, now=here.now),
        place="handle",
        done="asked",
    )


@router.post("/merges")
def propose_merge(here: CurrentTeam, fields: FormFields, rates: AppRateLimiter) -> Response:
    """Ask another team to merge into this one."""
    name, author = text(fields, "team"), here.viewer.account
    rates.take("team-invitation", author.id)
    return here.act(
        lambda session: invitations.propose_merge(session, here.slug, name, author=author, now=here.now),
        place="merge",
        done="asked",
    )


@router.post("/invitations/{invitation_id}/withdrawal")
def withdraw_invitation(here: CurrentTeam, invitation_id: InvitationId) -> Response:
    """Take an invitation back."""
    author = here.viewer.account
    return here.act(
        lambda session: invitations.withdraw(session, here.slug, invitation_id, author=author, now=here.now),
        place="invitations",
        done="withdrawn",
    )


@router.post("/invitations/{invitation_id}/answer")
def answer_invitation(here: CurrentTeam, invitation_id: InvitationId, fields: FormFields) -> Response:
    """Accept (the field ``accept`` is ``yes``) or decline."""
    accept = text(fields, "accept") == "yes"
    account = here.viewer.account
    return here.act(
        lambda session: invitations.answer(
            session, here.slug, invitation_id, accept=accept, account=account, now=here.now
        ),
        place="received",
        done="accepted" if accept else "declined",
    )


@router.post("/leaving")
def leave_team(here: CurrentTeam) -> Response:
    """Leave the team."""
    account = here.viewer.account
    return here.act(
        lambda session: teams.leave(session, here.slug, account=account, now=here.now), place="leave", done="left"
    )
