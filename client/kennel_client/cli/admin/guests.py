"""``kennel admin guest``: who is invited into a competition that is by invitation."""

from typing import Annotated

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, answers, columns

app = typer.Typer(no_args_is_help=True, help="Guests of a competition by invitation: list, invite, remove.")
COLUMNS = columns("who", "invited by=invited_by", "invited at=invited_at")
EMPTY = "Nobody is invited."


@app.command("list")
@answers
def list_guests(competition: Slug) -> Listing:
    """List who is invited into a competition."""
    with open_admin() as admin:
        return Listing(admin.guests.all(competition), COLUMNS, EMPTY)


@app.command()
@answers
def invite(competition: Slug, who: Annotated[list[str], typer.Argument(help="Handles or mail addresses.")]) -> Listing:
    """Invite people into a competition; lists all who are."""
    with open_admin() as admin:
        return Listing(admin.guests.invite(competition, who), COLUMNS, EMPTY)


@app.command()
@answers
def remove(competition: Slug, who: Annotated[str, typer.Argument(help="A handle or mail address.")]) -> Answer:
    """Take an invitation into a competition back; what was entered stays."""
    with open_admin() as admin:
        admin.guests.uninvite(competition, who)
    return Answer({"who": who}, f"{who} is not invited to {competition} any more.")
