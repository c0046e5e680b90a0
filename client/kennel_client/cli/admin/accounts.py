"""``kennel admin account``: who has an account; suspending and signing out; links to sign up with."""

from typing import Annotated

import typer

from kennel_client.cli.output import AdminClient, Answer, Listing, Reason, answers, columns

app = typer.Typer()
Handle = Annotated[str, typer.Argument(help="The person.")]


@answers(app, "list")
def list_accounts(
    admin: AdminClient,
    search: Annotated[str, typer.Argument(help="A part of the handle or name.")] = "",
) -> Listing:
    """List who has an account, with role, sessions, tokens and webhooks."""
    accounts = admin.accounts.all(search)
    shown = columns(
        "handle", "name", "role", "last seen=last_seen_at", "sessions", "tokens", "webhooks", "suspended=suspended_at"
    )
    return Listing(accounts, shown, "There is no such account.")


@answers(app)
def suspend(admin: AdminClient, handle: Handle, reason: Reason = "") -> Answer:
    """Let an account sign in no longer; its sessions, tokens and webhooks end."""
    return Answer(admin.accounts.suspend(handle, reason), f"{handle} is suspended.")


@answers(app)
def restore(admin: AdminClient, handle: Handle, reason: Reason = "") -> Answer:
    """Let a suspended account sign in again."""
    return Answer(admin.accounts.reinstate(handle, reason), f"{handle} may sign in again.")


@answers(app)
def sign_out(admin: AdminClient, handle: Handle) -> Answer:
    """End all sessions, tokens and webhooks of an account; its owner may sign in again."""
    admin.accounts.sign_out(handle)
    return Answer({"handle": handle}, f"All sessions, tokens and webhooks of {handle} have ended.")


@answers(app)
def invite(
    admin: AdminClient, email: Annotated[str, typer.Argument(help="Where to mail the link, if anywhere.")] = ""
) -> Answer:
    """Print a link with which one person can sign up, and mail it if there is an address."""
    invitation = admin.accounts.invite(email or None)
    return Answer(invitation, invitation["link"])
