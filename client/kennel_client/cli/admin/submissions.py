"""``kennel admin submission``: labels of submissions, and their code."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.cli.admin.review import LabelArgument
from kennel_client.cli.formatting import format_time
from kennel_client.cli.output import IDS, AdminClient, Answer, Slug, SubmissionId, answers

app = typer.Typer()


@answers(app, **IDS)
def label(
    admin: AdminClient,
    competition: Slug,
    submission: SubmissionId,
    label: LabelArgument,
    note: Annotated[str, typer.Option(help="A note, stored with the decided label.")] = "",
    early: Annotated[bool, typer.Option("--early", help="Set an early label, only to compare extractors.")] = False,
) -> Answer:
    """Set the decided or early label of a submission. A later label replaces it."""
    if early:
        early_label = admin.submissions.label_early(submission, label)
        return Answer(early_label, f"{submission} has the early label {label}.")
    decided = admin.submissions.label(competition, submission, label, note=note)
    return Answer(decided, f"{submission} is labelled {label}.")


@answers(app, **IDS)
def ask_code(
    admin: AdminClient,
    submission: SubmissionId,
    until: Annotated[datetime, typer.Argument(help="Time limit in UTC, within 365 days; can be after the deadline.")],
    text: Annotated[str, typer.Option(help="A message (shown to the team).")] = "",
) -> Answer:
    """Request a submission's code from its team, which can attach it until the given time."""
    made = admin.submissions.ask_for_code(submission, until.replace(tzinfo=UTC), text)
    return Answer(made, f"Code requested. The team can attach it until {format_time(made['until'])}.")


@answers(app, **IDS)
def code(
    admin: AdminClient, submission: SubmissionId, to: Annotated[Path, typer.Argument(help="The file to write.")]
) -> Answer:
    """Download the code of a submission: a zip or a notebook."""
    admin.submissions.download_code(submission, to)
    return Answer({"file": str(to)}, str(to))
