"""The organizers' pages of teams: the list, and a team with its members, messages and a ruling on all its entries."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from fastapi import Depends, Query
from fastapi.responses import Response

from api.http.dependencies import KnownViewer, Now, Organizer, RowId, SignedIn, Transactions
from api.http.forms import FormFields, read_choice, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.announcements import messages_to
from scorer.db.submissions.submissions import load_submissions
from scorer.db.teams.members import load_members
from scorer.db.teams.team_lists import list_teams
from scorer.review import rulings
from scorer.review.rulings import RulingKind
from scorer.teams import team_messages

router = Router(prefix="/competitions/{slug}/teams", include_in_schema=False)
PAGE_SIZE = 50
MAX_REASON_LENGTH = 5000
DONE_MESSAGES = {"sent": "Message sent.", "ruled": "Ruling saved for all scored entries. The team has been notified."}


@router.api_route("", methods=["GET", "HEAD"])
def show_teams(
    slug: str,
    begin: Transactions,
    author: Organizer,
    viewer: KnownViewer,
    now: Now,
    search: Annotated[str, Query(max_length=100)] = "",
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
) -> Response:
    with begin() as session:
        state = load_state(session, slug, now)
        page = list_teams(session, state.competition.id, search.strip(), after=after, limit=PAGE_SIZE + 1)
        return render_page(
            "teams/team_lists/list.html",
            viewer=viewer,
            state=state,
            teams=page[:PAGE_SIZE],
            next_after=page[PAGE_SIZE - 1].id if len(page) > PAGE_SIZE else None,
            search=search.strip(),
            after=after,
            now=now,
        )


@dataclass(frozen=True)
class OneTeam:
    """A request for the organizers' page of a team."""

    slug: str
    team_id: RowId
    begin: Transactions
    viewer: KnownViewer
    now: Now

    def show(self, **outcome: Any) -> Response:
        with self.begin() as session:
            state = load_state(session, self.slug, self.now)
            team = team_messages.find_team(session, state, self.team_id)
            competition_id = state.competition.id
            return render_page(
                "teams/team_lists/one.html",
                viewer=self.viewer,
                state=state,
                team=team,
                members=load_members(session, team.id),
                entries=load_submissions(session, competition_id, team_id=team.id, before=None, limit=PAGE_SIZE),
                messages=messages_to(session, team.id),
                kinds=get_args(RulingKind),
                now=self.now,
                **outcome,
            )

    def act(
        self, action: Callable[[Acting, CompetitionState], object], *, place: str, done: str, typed: str
    ) -> Response:
        """Run ``action`` in a transaction and redirect. After a refusal, show the page with the error and the typed
        text at ``place``."""
        with refusal_on(self.show, place=place, typed=typed), self.begin() as session:
            action(Acting(session, self.viewer.account, self.now), load_state(session, self.slug, self.now))
        return see_other(f"/competitions/{self.slug}/teams/{self.team_id}?done={done}")


CurrentTeam = Annotated[OneTeam, Depends()]


@router.api_route("/{team_id}", methods=["GET", "HEAD"])
def show_team(team: CurrentTeam, author: Organizer, done: str = "") -> Response:
    return team.show(done=DONE_MESSAGES.get(done))


@router.post("/{team_id}/messages")
def write_message(team: CurrentTeam, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    message = text(fields, "text", max_length=team_messages.MAX_TEXT_LENGTH)
    return team.act(
        lambda acting, state: team_messages.write(acting, state, team.team_id, text=message),
        place="message",
        done="sent",
        typed=message,
    )


@router.post("/{team_id}/rulings")
def rule_on_team(team: CurrentTeam, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    reason = text(fields, "reason", max_length=MAX_REASON_LENGTH)

    def rule(acting: Acting, state: CompetitionState) -> None:
        kind = read_choice(fields, "kind", RulingKind, message="Choose a ruling.")
        rulings.rule_on_team(acting, state, team.team_id, kind=kind, reason=reason)

    return team.act(rule, place="ruling", done="ruled", typed=reason)
