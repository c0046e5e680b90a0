"""``kennel admin team``: teams and members; messages to teams and rulings on all of their entries."""

from typing import Annotated

import typer

from kennel_client.cli.admin.review import RulingArgument
from kennel_client.cli.output import AdminClient, Answer, Listing, Slug, TeamReason, answers, columns

app = typer.Typer()
TeamId = Annotated[int, typer.Argument(help="The team's number, as in `list`.")]


@answers(app, "list")
def list_teams(
    admin: AdminClient,
    competition: Slug,
    search: Annotated[str, typer.Option(help="Only teams with this text in their name or a member's name.")] = "",
) -> Listing:
    """List the teams of a competition, with a row for each member."""
    teams = admin.teams.all(competition, search)
    members = [
        {"team_id": team["id"], "team": team["name"], "submissions": team["submissions"], **member}
        for team in teams
        for member in team["members"]
    ]
    shown = columns("team_id", "team", "submissions", "handle", "name", "joined_at")
    return Listing(members, shown, "No team matches.")


@answers(app)
def message(admin: AdminClient, competition: Slug, team: TeamId, text: str) -> Answer:
    """Send a message to a team; the message stays on record."""
    sent = admin.teams.write(competition, team, text)
    return Answer(sent, "Message sent.")


@answers(app)
def messages(admin: AdminClient, competition: Slug, team: TeamId) -> Listing:
    """List the messages of organizers to a team, newest first."""
    sent = admin.teams.messages(competition, team)
    return Listing(sent, columns("at=created_at", "by=author", "text"), "There are no messages to this team.")


@answers(app)
def rule(admin: AdminClient, competition: Slug, team: TeamId, kind: RulingArgument, reason: TeamReason) -> Answer:
    """Rule on all scored entries of a team."""
    made = admin.rulings.rule_team(competition, team, kind, reason=reason)
    return Answer(made, f"{len(made)} {'entry' if len(made) == 1 else 'entries'}: {kind}.")
