"""``kennel admin submission``: labels of entries, and their code."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.cli.admin.review import LabelArgument
from kennel_client.cli.output import IDS, AdminClient, Answer, EntryId, Slug, answers

app = typer.Typer()


@answers(app, **IDS)
def label(
    admin: AdminClient,
    competition: Slug,
    submission: EntryId,
    label: LabelArgument,
    note: Annotated[str, typer.Option(help="A note, stored with a decided label.")] = "",
    early: Annotated[bool, typer.Option("--early", help="Set an early label, which decides nothing.")] = False,
) -> Answer:
    """Set the decided label of an entry, or an early label; a later one replaces it."""
    if early:
        early_label = admin.submissions.label_early(submission, label)
        return Answer(early_label, f"{submission} has the early label {label}, which decides nothing.")
    decided = admin.submissions.label(competition, submission, label, note=note)
    return Answer(decided, f"{submission} is labelled {label}.")


@answers(app, **IDS)
def ask_code(
    admin: AdminClient,
    submission: EntryId,
    until: Annotated[
        datetime, typer.Argument(help="Deadline in UTC, at most 365 days away; it can be after the close.")
    ],
    text: Annotated[str, typer.Option(help="A text (shown to the team).")] = "",
) -> Answer:
    """Request an entry's code from its team, which can attach it until the deadline."""
    made = admin.submissions.ask_for_code(submission, until.replace(tzinfo=UTC), text)
    return Answer(made, f"Code requested from the team, until {made['until']}.")


@answers(app, **IDS)
def code(
    admin: AdminClient, submission: EntryId, to: Annotated[Path, typer.Argument(help="The file to write.")]
) -> Answer:
    """Download the code of an entry: a zip or a notebook."""
    admin.submissions.download_code(submission, to)
    return Answer({"file": str(to)}, str(to))
