"""``kennel admin team``: teams and members; messages to teams and rulings on all of their submissions."""

from typing import Annotated

import typer

from kennel_client.cli.admin.review import RulingArgument
from kennel_client.cli.formatting import format_count
from kennel_client.cli.output import AdminClient, Answer, Listing, Slug, TeamReason, answers, columns

app = typer.Typer()
TeamId = Annotated[int, typer.Argument(help="The team's ID, as shown by `list`.")]


@answers(app, "list")
def list_teams(
    admin: AdminClient,
    competition: Slug,
    search: Annotated[str, typer.Option(help="Only teams whose name, or a member's name, contains this text.")] = "",
) -> Listing:
    """List the teams of a competition, with a row for each member."""
    teams = admin.teams.all(competition, search)
    members = [
        {"team_id": team["id"], "team": team["name"], "submissions": team["submissions"], **member}
        for team in teams
        for member in team["members"]
    ]
    shown = columns("team_id", "team", "submissions", "handle", "name", "joined_at")
    return Listing(members, shown, "No teams match.")


@answers(app)
def message(
    admin: AdminClient,
    competition: Slug,
    team: TeamId,
    text: Annotated[str, typer.Argument(help="The message.")],
) -> Answer:
    """Send a message to a team. The message stays on record."""
    sent = admin.teams.write(competition, team, text)
    return Answer(sent, "Message sent.")


@answers(app)
def messages(admin: AdminClient, competition: Slug, team: TeamId) -> Listing:
    """List the messages from organizers to a team, newest first."""
    sent = admin.teams.messages(competition, team)
    return Listing(sent, columns("at=created_at", "by=author", "text"), "There are no messages to this team yet.")


@answers(app)
def rule(admin: AdminClient, competition: Slug, team: TeamId, kind: RulingArgument, reason: TeamReason) -> Answer:
    """Make the same ruling on all scored submissions of a team."""
    made = admin.rulings.rule_team(competition, team, kind, reason=reason)
    return Answer(made, f"{format_count(len(made), 'submission')}: {kind}.")
