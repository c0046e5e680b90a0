"""``kennel admin team``: who competes; messages to teams and rulings on all of their entries."""

from typing import Annotated

import typer

from kennel_client.cli.admin.review import RulingArgument
from kennel_client.cli.output import AdminClient, Answer, Listing, Slug, Told, answers, columns

app = typer.Typer()
TeamId = Annotated[int, typer.Argument(help="The team's number, as `list` shows it.")]


@answers(app, "list")
def list_teams(
    admin: AdminClient,
    competition: Slug,
    search: Annotated[str, typer.Option(help="Only teams with this in their name, or a member's.")] = "",
) -> Listing:
    """List the teams of a competition, with a row for each member."""
    teams = admin.teams.all(competition, search)
    members = [
        {"team_id": team["id"], "team": team["name"], "submissions": team["submissions"], **member}
        for team in teams
        for member in team["members"]
    ]
    shown = columns("team_id", "team", "submissions", "handle", "name", "joined_at")
    return Listing(members, shown, "There are no such teams.")


@answers(app)
def message(admin: AdminClient, competition: Slug, team: TeamId, text: str) -> Answer:
    """Write to a team; the message stays on record."""
    sent = admin.teams.write(competition, team, text)
    return Answer(sent, "The team is told.")


@answers(app)
def messages(admin: AdminClient, competition: Slug, team: TeamId) -> Listing:
    """List what organizers have written to a team, newest first."""
    sent = admin.teams.messages(competition, team)
    return Listing(sent, columns("at=created_at", "by=author", "text"), "Nothing was written to this team.")


@answers(app)
def rule(admin: AdminClient, competition: Slug, team: TeamId, kind: RulingArgument, reason: Told) -> Answer:
    """Rule on all scored entries of a team at once."""
    made = admin.rulings.rule_team(competition, team, kind, reason=reason)
    return Answer(made, f"{len(made)} {'entry' if len(made) == 1 else 'entries'}: {kind}.")
