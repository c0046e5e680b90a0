"""Final picks: the entries that a team wants to be ranked by."""

from api.http.dependencies import CurrentUser, DbSession, Now, Submitter
from api.routing import Router
from api.schemas.teams import NewPicks, PicksView
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.teams import final_picks
from scorer.teams.final_picks import FinalEntries

router = Router(tags=["results"])


@router.get("/competitions/{slug}/picks")
def show_picks(slug: str, session: DbSession, account: CurrentUser, now: Now) -> PicksView:
    """The entries that your team will be ranked by: its picks, or without picks its best public entries."""
    state = competition_state.visible_state(session, slug, account, now)
    team = final_picks.own_team(session, state, account)
    return _picks(state, final_picks.final_entries_of(session, state, team))


@router.put("/competitions/{slug}/picks")
def pick(slug: str, body: NewPicks, session: DbSession, account: Submitter, now: Now) -> PicksView:
    """Pick the entries that your team will be ranked by, until the last uploads have finished; also entries that still
    wait for their score. An empty list removes the picks."""
    finals = final_picks.pick(session, slug, body.submissions, account=account, now=now)
    return _picks(competition_state.visible_state(session, slug, account, now), finals)


def _picks(state: CompetitionState, finals: FinalEntries) -> PicksView:
    chosen = finals.chosen
    return PicksView(
        submissions=[each.id for each in finals.picks],
        chosen=chosen is not None,
        most=state.competition.final_picks,
        until=competition_state.grace_end(state.competition),
        picked_by=chosen.author.handle if chosen else None,
        picked_at=chosen.created_at if chosen else None,
    )
