"""``kennel admin``: people: others' accounts; who organizes and reviews; announcements, teams, messages, requests for
code."""

import csv
import io
from datetime import datetime
from typing import Annotated, Any

import typer

from kennel_client.api import segment
from kennel_client.cli.admin.connection import Url, connected_organizer

app = typer.Typer()
Reason = Annotated[str, typer.Option(help="For the audit log.")]
Slug = Annotated[str, typer.Argument(help="The competition.")]
Handle = Annotated[str, typer.Argument(help="The person.")]
TeamId = Annotated[int, typer.Argument(help="The team's number, as `teams` shows it.")]


@app.command()
def accounts(
    search: Annotated[str, typer.Argument(help="A part of the handle or name.")] = "",
    url: Url = "",
) -> None:
    """Print who has an account, with role, sessions, tokens and webhooks."""
    after: int | None = 0
    with connected_organizer(url) as client:
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
    url: Url = "",
) -> None:
    """Let an account sign in no longer; its sessions, tokens and webhooks end."""
    with connected_organizer(url) as client:
        client.put(f"/admin/accounts/{segment(handle)}/suspension", {"suspended": not end, "reason": reason})
    print(f"{handle} may sign in again." if end else f"{handle} is suspended.")


@app.command()
def sign_out(handle: str, url: Url = "") -> None:
    """End all sessions, tokens and webhooks of an account; its owner may sign in again."""
    with connected_organizer(url) as client:
        client.send("DELETE", f"/admin/accounts/{segment(handle)}/credentials")
    print(f"All sessions, tokens and webhooks of {handle} have ended.")


@app.command("roles")
def list_roles(slug: Slug, url: Url = "") -> None:
    """Show who organizes and reviews a competition, or is asked to."""
    with connected_organizer(url) as client:
        for role in client.get_list(f"/competitions/{segment(slug)}/roles", "roles"):
            print(_role_text(role))


@app.command()
def offer_role(
    slug: Slug,
    handle: Handle,
    role: Annotated[str, typer.Argument(help="organizer or reviewer.")],
    url: Url = "",
) -> None:
    """Ask somebody to organize a competition or to review its entries; they have the role once they accept it."""
    with connected_organizer(url) as client:
        print(_role_text(client.put(f"/competitions/{segment(slug)}/roles/{segment(handle)}", {"role": role})))


@app.command()
def end_role(slug: Slug, handle: Handle, url: Url = "") -> None:
    """End somebody's role in a competition, or take back its offer."""
    with connected_organizer(url) as client:
        client.send("DELETE", f"/competitions/{segment(slug)}/roles/{segment(handle)}")
    print(f"{handle} has no role in {slug} any more.")


@app.command()
def accept_role(
    slug: Slug,
    decline: Annotated[bool, typer.Option("--decline", help="Decline it, or lay it down.")] = False,
    url: Url = "",
) -> None:
    """Accept the role that you are offered: you can never enter that competition then."""
    path = f"/competitions/{segment(slug)}/role"
    with connected_organizer(url) as client:
        if decline:
            client.send("DELETE", path)
            print(f"You have no role in {slug}.")
        else:
            print(_role_text(client.call("PUT", path)))


def _role_text(role: dict[str, Any]) -> str:
    since = f"since {role['accepted_at']}" if role["accepted_at"] else f"asked at {role['offered_at']}"
    return f"{role['handle']}: {role['role']} of {role['competition']}, {since}"


@app.command()
def announce(
    slug: Slug,
    title: str,
    text: Annotated[str, typer.Argument(help="Markdown.")],
    url: Url = "",
) -> None:
    """Tell everybody who takes part something: on the page, in the feed, by notice, mail and webhook."""
    with connected_organizer(url) as client:
        made = client.post(f"/competitions/{segment(slug)}/announcements", {"title": title, "text": text})
    print(f"Announced at {made['created_at']}: {made['title']}")


@app.command("teams")
def list_teams(
    slug: Slug,
    search: Annotated[str, typer.Option(help="Only teams with this in their name, or a member's.")] = "",
    as_csv: Annotated[bool, typer.Option("--csv", help="A line for each member.")] = False,
    url: Url = "",
) -> None:
    """Show the teams of a competition and their members."""
    params = {"format": "csv", "search": search}
    with connected_organizer(url) as client:
        table = client.send("GET", f"/competitions/{segment(slug)}/teams", params=params).text
    if as_csv:
        print(table, end="")
        return
    teams: dict[str, list[str]] = {}
    for line in csv.DictReader(io.StringIO(table)):
        teams.setdefault(f"{line['team_id']} {line['team']}", []).append(line["handle"])
    for team, members in teams.items():
        print(f"{team}: {', '.join(members)}")


@app.command()
def message(slug: Slug, team: TeamId, text: str, url: Url = "") -> None:
    """Write to a team; the message stays on record."""
    with connected_organizer(url) as client:
        client.post(f"/competitions/{segment(slug)}/teams/{team}/messages", {"text": text})
    print("The team is told.")


@app.command()
def rule_team(
    slug: Slug,
    team: TeamId,
    kind: Annotated[str, typer.Argument(help="keep, disqualify or waive.")],
    reason: Annotated[str, typer.Option(help="Told to the team.")],
    url: Url = "",
) -> None:
    """Rule on all scored entries of a team at once."""
    with connected_organizer(url) as client:
        made = client.post(f"/competitions/{segment(slug)}/teams/{team}/rulings", {"kind": kind, "reason": reason})
    print(f"{len(made)} {'entry' if len(made) == 1 else 'entries'}: {kind}.")


@app.command()
def ask_code(
    submission: Annotated[str, typer.Argument(help="The entry's id.")],
    until: Annotated[datetime, typer.Argument(help="UTC; it may lie behind the close.")],
    text: Annotated[str, typer.Option(help="Told to the team.")] = "",
    url: Url = "",
) -> None:
    """Ask a team for the code of an entry, which it may attach until then."""
    body = {"until": f"{until.isoformat()}Z", "text": text}
    with connected_organizer(url) as client:
        made = client.put(f"/submissions/{segment(submission)}/code-request", body)
    print(f"The team is asked for it until {made['until']}.")
