"""``kennel admin``: who organizes and reviews a competition."""

from typing import Annotated, Any

import typer

from deploy.cli.admin import DEFAULT_URL, Token, Url
from deploy.client.api import Client, segment

app = typer.Typer()
Slug = Annotated[str, typer.Argument(help="The competition.")]
Handle = Annotated[str, typer.Argument(help="The person.")]


@app.command("roles")
def list_roles(slug: Slug, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """Show who organizes and reviews a competition, or is asked to."""
    with Client(url, token) as client:
        for role in client.get(f"/competitions/{segment(slug)}/roles"):
            print(_role_text(role))


@app.command()
def offer_role(
    slug: Slug,
    handle: Handle,
    role: Annotated[str, typer.Argument(help="organizer or reviewer.")],
    url: Url = DEFAULT_URL,
    token: Token = "",
) -> None:
    """Ask somebody to organize a competition or to review its entries; they have the role once they accept it."""
    with Client(url, token) as client:
        print(_role_text(client.put(f"/competitions/{segment(slug)}/roles/{segment(handle)}", {"role": role})))


@app.command()
def end_role(slug: Slug, handle: Handle, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """End somebody's role in a competition, or take back its offer."""
    with Client(url, token) as client:
        client.send("DELETE", f"/competitions/{segment(slug)}/roles/{segment(handle)}")
    print(f"{handle} has no role in {slug} any more.")


@app.command()
def accept_role(
    slug: Slug,
    decline: Annotated[bool, typer.Option("--decline", help="Decline it, or lay it down.")] = False,
    url: Url = DEFAULT_URL,
    token: Token = "",
) -> None:
    """Accept the role that you are offered: you can never enter that competition then."""
    path = f"/competitions/{segment(slug)}/role"
    with Client(url, token) as client:
        if decline:
            client.send("DELETE", path)
            print(f"You have no role in {slug}.")
        else:
            print(_role_text(client.call("PUT", path)))


def _role_text(role: dict[str, Any]) -> str:
    since = f"since {role['accepted_at']}" if role["accepted_at"] else f"asked at {role['offered_at']}"
    return f"{role['handle']}: {role['role']} of {role['competition']}, {since}"
