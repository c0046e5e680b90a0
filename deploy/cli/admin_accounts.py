"""``kennel admin``: others' accounts: listing and suspending them, ending their credentials."""

from typing import Annotated

import typer

from deploy.cli.admin import DEFAULT_URL, Token, Url
from deploy.client.api import Client, segment

app = typer.Typer()
Reason = Annotated[str, typer.Option(help="For the audit log.")]


@app.command()
def accounts(
    search: Annotated[str, typer.Argument(help="A part of the handle or name.")] = "",
    url: Url = DEFAULT_URL,
    token: Token = "",
) -> None:
    """Print who has an account, with role, sessions, tokens and webhooks."""
    after: int | None = 0
    with Client(url, token) as client:
        while after is not None:
            page = client.get("/admin/accounts", search=search, after=after)
            for each in page["accounts"]:
                suspended = f", suspended {each['suspended_at'][:10]}" if each["suspended_at"] else ""
                seen = f"seen {each['last_seen_at'][:10]}" if each["last_seen_at"] else "never seen"
                counts = ", ".join(f"{each[kind]} {kind}" for kind in ("sessions", "tokens", "webhooks"))
                print(f"{each['handle']}  {each['role']}, {seen}, {counts}{suspended}")
            after = page["next_after"]


@app.command()
def suspend(
    handle: str,
    end: Annotated[bool, typer.Option("--end", help="Let it sign in again.")] = False,
    reason: Reason = "",
    url: Url = DEFAULT_URL,
    token: Token = "",
) -> None:
    """Let an account sign in no longer; its sessions, tokens and webhooks end."""
    with Client(url, token) as client:
        client.put(f"/admin/accounts/{segment(handle)}/suspension", {"suspended": not end, "reason": reason})
    print(f"{handle} may sign in again." if end else f"{handle} is suspended.")


@app.command()
def sign_out(handle: str, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """End all sessions, tokens and webhooks of an account; its owner may sign in again."""
    with Client(url, token) as client:
        client.send("DELETE", f"/admin/accounts/{segment(handle)}/credentials")
    print(f"All sessions, tokens and webhooks of {handle} have ended.")
