"""``kennel admin team``: who competes; messages to teams and rulings on all of their entries."""

from typing import Annotated

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import RulingKind, Slug, Told
from kennel_client.cli.output import Answer, Listing, answers, columns

app = typer.Typer(no_args_is_help=True, help="Teams: list members, write, rule on all entries.")
TeamId = Annotated[int, typer.Argument(help="The team's number, as `list` shows it.")]


@app.command("list")
@answers
def list_teams(
    competition: Slug,
    search: Annotated[str, typer.Option(help="Only teams with this in their name, or a member's.")] = "",
) -> Listing:
    """List the teams of a competition, with a row for each member."""
    with open_admin() as admin:
        teams = admin.teams.all(competition, search)
    members = [
        {"team_id": team["id"], "team": team["name"], "submissions": team["submissions"], **member}
        for team in teams
        for member in team["members"]
    ]
    shown = columns("team_id", "team", "submissions", "handle", "name", "joined_at")
    return Listing(members, shown, "There are no such teams.")


@app.command()
@answers
def message(competition: Slug, team: TeamId, text: str) -> Answer:
    """Write to a team; the message stays on record."""
    with open_admin() as admin:
        sent = admin.teams.write(competition, team, text)
    return Answer(sent, "The team is told.")


@app.command()
@answers
def messages(competition: Slug, team: TeamId) -> Listing:
    """List what organizers have written to a team, newest first."""
    with open_admin() as admin:
        sent = admin.teams.messages(competition, team)
    return Listing(sent, columns("at=created_at", "by=author", "text"), "Nothing was written to this team.")


@app.command()
@answers
def rule(competition: Slug, team: TeamId, kind: RulingKind, reason: Told) -> Answer:
    """Rule on all scored entries of a team at once."""
    with open_admin() as admin:
        made = admin.rulings.rule_team(competition, team, kind, reason)
    return Answer(made, f"{len(made)} {'entry' if len(made) == 1 else 'entries'}: {kind}.")
