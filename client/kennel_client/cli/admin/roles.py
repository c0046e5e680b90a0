"""``kennel admin role``: who organizes and reviews a competition."""

from typing import Annotated, Literal

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, View, answers, columns

app = typer.Typer(no_args_is_help=True, help="Organizers and reviewers of a competition: offer, accept, end.")
Handle = Annotated[str, typer.Argument(help="The person.")]


@app.command("list")
@answers
def list_roles(competition: Slug) -> Listing:
    """List who organizes and reviews a competition, or is asked to."""
    with open_admin() as admin:
        roles = admin.roles.all(competition)
    shown = columns("handle", "role", "offered by=offered_by", "offered at=offered_at", "accepted at=accepted_at")
    return Listing(roles, shown, "Nobody has a role.")


@app.command()
@answers
def offer(
    competition: Slug,
    handle: Handle,
    role: Annotated[Literal["organizer", "reviewer"], typer.Argument(help="What they are asked to be.")],
) -> Answer:
    """Ask somebody to organize a competition or to review its entries; they have the role once they accept it."""
    with open_admin() as admin:
        return _answer(admin.roles.offer(competition, handle, role))


@app.command()
@answers
def end(competition: Slug, handle: Handle) -> Answer:
    """End somebody's role in a competition, or take back its offer."""
    with open_admin() as admin:
        admin.roles.end(competition, handle)
    return Answer({"handle": handle}, f"{handle} has no role in {competition} any more.")


@app.command()
@answers
def show(competition: Slug) -> Answer:
    """Show your own role in a competition, or the one that you are offered."""
    with open_admin() as admin:
        return _answer(admin.roles.own(competition))


@app.command()
@answers
def accept(competition: Slug) -> Answer:
    """Accept the role that you are offered: you can never enter that competition then."""
    with open_admin() as admin:
        return _answer(admin.roles.accept(competition))


@app.command()
@answers
def decline(competition: Slug) -> Answer:
    """Decline the role that you are offered, or lay it down."""
    with open_admin() as admin:
        admin.roles.decline(competition)
    return Answer({"competition": competition}, f"You have no role in {competition}.")


def _answer(role: View) -> Answer:
    since = f"since {role['accepted_at']}" if role["accepted_at"] else f"asked at {role['offered_at']}"
    return Answer(role, f"{role['handle']}: {role['role']} of {role['competition']}, {since}")
