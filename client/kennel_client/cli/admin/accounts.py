"""``kennel admin account``: who has an account; suspending and signing out; links to sign up with."""

from typing import Annotated

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Reason
from kennel_client.cli.output import Answer, Listing, answers, columns

app = typer.Typer(no_args_is_help=True, help="People's accounts: list, suspend, sign out, invite.")
Handle = Annotated[str, typer.Argument(help="The person.")]


@app.command("list")
@answers
def list_accounts(
    search: Annotated[str, typer.Argument(help="A part of the handle or name.")] = "",
) -> Listing:
    """List who has an account, with role, sessions, tokens and webhooks."""
    with open_admin() as admin:
        accounts = admin.accounts.all(search)
    shown = columns(
        "handle", "name", "role", "last seen=last_seen_at", "sessions", "tokens", "webhooks", "suspended=suspended_at"
    )
    return Listing(accounts, shown, "There is no such account.")


@app.command()
@answers
def suspend(handle: Handle, reason: Reason = "") -> Answer:
    """Let an account sign in no longer; its sessions, tokens and webhooks end."""
    with open_admin() as admin:
        return Answer(admin.accounts.suspend(handle, reason), f"{handle} is suspended.")


@app.command()
@answers
def restore(handle: Handle, reason: Reason = "") -> Answer:
    """Let a suspended account sign in again."""
    with open_admin() as admin:
        return Answer(admin.accounts.reinstate(handle, reason), f"{handle} may sign in again.")


@app.command()
@answers
def sign_out(handle: Handle) -> Answer:
    """End all sessions, tokens and webhooks of an account; its owner may sign in again."""
    with open_admin() as admin:
        admin.accounts.sign_out(handle)
    return Answer({"handle": handle}, f"All sessions, tokens and webhooks of {handle} have ended.")


@app.command()
@answers
def invite(email: Annotated[str, typer.Argument(help="Where to mail the link, if anywhere.")] = "") -> Answer:
    """Print a link with which one person can sign up, and mail it if there is an address."""
    with open_admin() as admin:
        invitation = admin.accounts.invite(email or None)
    return Answer(invitation, invitation["link"])
