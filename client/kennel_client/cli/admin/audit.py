"""``kennel admin audit``: who did what, and what the audits of generators have found."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.api import segment
from kennel_client.cli import tables
from kennel_client.cli.connection import open_admin, open_client
from kennel_client.cli.options import IDS, EntryId
from kennel_client.cli.output import Answer, Listing, View, answers, columns
from kennel_client.steps import Download, Operation

app = typer.Typer(no_args_is_help=True, help="The audit log; audits of entries' generators.")


@app.command()
@answers
def log(
    competition: Annotated[
        str, typer.Argument(help="What was done to this competition. Default: everything, for admins.")
    ] = "",
    action: Annotated[str, typer.Option(help="Only this, such as sign-in.failed.")] = "",
    subject: Annotated[str, typer.Option(help="Only what was done to this, such as account:ada.")] = "",
    actor: Annotated[str, typer.Option(help="Only what this person did.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=500, help="So many, the newest.")] = 100,
) -> Listing:
    """List who did what and when, newest first; as JSON with the state before and after."""
    only = {"action": action or None, "subject": subject or None, "actor": actor or None}
    with open_admin() as admin:
        entries = admin.audit_log.newest(competition or None, limit=limit, **only)
    shown = columns("at=created_at", "actor", "action", "subject") | {"after": _changes}
    return Listing(entries, shown, "Nothing of that kind was done.")


def _changes(entry: View) -> str:
    return ", ".join(f"{name}: {value}" for name, value in (entry["after"] or {}).items())


@app.command(**IDS)
@answers
def generator(
    submission: EntryId,
    to: Annotated[
        Path | None, typer.Option(help="Save pictures of what was searched and found in this folder.")
    ] = None,
) -> Answer:
    """Show what the audit of an entry's generator has found."""
    path = f"/submissions/{segment(submission)}/generator"
    with open_client() as client:
        view = client.get(path)
        if to is not None:
            for group in (view["result"] or {"pairs": {}})["pairs"]:
                client.run(_saved(f"{path}/pairs/{segment(group)}", to / f"{group}.png"))
    return Answer(view, partial(tables.print_generator, view=view))


def _saved(path: str, to: Path) -> Operation[None]:
    yield Download(path, to)
