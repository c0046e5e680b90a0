"""``kennel admin audit``: the audit log, and the results of generator audits."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.api import segment
from kennel_client.cli import tables
from kennel_client.cli.output import IDS, AdminClient, Answer, Listing, SubmissionId, View, answers, columns
from kennel_client.steps import Download, Operation

app = typer.Typer()


@answers(app)
def log(
    admin: AdminClient,
    competition: Annotated[
        str, typer.Argument(help="Only actions in this competition. Default: all actions (admins only).")
    ] = "",
    action: Annotated[str, typer.Option(help="Only this action, such as sign-in.failed.")] = "",
    subject: Annotated[str, typer.Option(help="Only actions on this subject, such as account:ada.")] = "",
    actor: Annotated[str, typer.Option(help="Only actions by this person.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=500, help="Number of actions to show.")] = 100,
) -> Listing:
    """List who did what and when, newest first. JSON output also contains the state before and after."""
    only = {"action": action or None, "subject": subject or None, "actor": actor or None}
    entries = admin.audit_log.newest(competition or None, limit=limit, **only)
    shown = columns("at=created_at", "actor", "action", "subject") | {"after": _changes}
    return Listing(entries, shown, "No actions match.")


def _changes(entry: View) -> str:
    return ", ".join(f"{name}: {value}" for name, value in (entry["after"] or {}).items())


@answers(app, **IDS)
def generator(
    admin: AdminClient,
    submission: SubmissionId,
    start: Annotated[
        bool, typer.Option("--start", help="First start the audit of a submission that is a generator.")
    ] = False,
    to: Annotated[Path | None, typer.Option(help="Save the target and recovered images in this folder.")] = None,
) -> Answer:
    """Show the result of the generator audit of a submission."""
    path = f"/submissions/{segment(submission)}/generator"
    view = admin.api.post(path) if start else admin.api.get(path)
    if to is not None:
        for group in (view["result"] or {"pairs": {}})["pairs"]:
            admin.api.run(_saved(f"{path}/pairs/{segment(group)}", to / f"{group}.png"))
    return Answer(view, partial(tables.print_generator, view=view))


def _saved(path: str, to: Path) -> Operation[None]:
    yield Download(path, to)
