"""``kennel admin account``: list, suspend and sign out accounts; create sign-up links."""

from typing import Annotated

import typer

from kennel_client.cli.output import AdminClient, Answer, Listing, Reason, answers, columns

app = typer.Typer()
Handle = Annotated[str, typer.Argument(help="The account's handle.")]


@answers(app, "list")
def list_accounts(
    admin: AdminClient,
    search: Annotated[str, typer.Argument(help="Only accounts whose handle or name contains this text.")] = "",
) -> Listing:
    """List accounts with their roles, sessions, tokens and webhooks."""
    accounts = admin.accounts.all(search)
    shown = columns(
        "handle", "name", "role", "last seen=last_seen_at", "sessions", "tokens", "webhooks", "suspended=suspended_at"
    )
    return Listing(accounts, shown, "No accounts match.")


@answers(app)
def suspend(admin: AdminClient, handle: Handle, reason: Reason = "") -> Answer:
    """Suspend an account. It can no longer sign in, and its sessions, tokens and webhooks end."""
    return Answer(admin.accounts.suspend(handle, reason), f"{handle} is suspended.")


@answers(app)
def restore(admin: AdminClient, handle: Handle, reason: Reason = "") -> Answer:
    """Let a suspended account sign in again."""
    return Answer(admin.accounts.reinstate(handle, reason), f"{handle} can sign in again.")


@answers(app)
def sign_out(admin: AdminClient, handle: Handle) -> Answer:
    """End all sessions, tokens and webhooks of an account. Its owner can sign in again."""
    admin.accounts.sign_out(handle)
    return Answer({"handle": handle}, f"All sessions, tokens and webhooks of {handle} have ended.")


@answers(app)
def invite(
    admin: AdminClient,
    email: Annotated[str, typer.Argument(help="The address to mail the link to. Default: only print it.")] = "",
) -> Answer:
    """Create and print a link that lets one person sign up. With an address, also mail it."""
    invitation = admin.accounts.invite(email or None)
    return Answer(invitation, invitation["link"])
