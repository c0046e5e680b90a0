"""``kennel admin ruling``: keeping, disqualifying and waiving the penalty of entries."""

from typing import Annotated

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import IDS, EntryId, RulingKind, Told
from kennel_client.cli.output import Answer, Listing, View, answers, columns

app = typer.Typer(no_args_is_help=True, help="Rulings on entries: create, list, what they would change.")


@app.command(**IDS)
@answers
def create(
    submission: EntryId,
    kind: RulingKind,
    reason: Told,
    memorising: Annotated[
        bool | None,
        typer.Option(help="Whether the label `other` counts as memorising when tau is chosen. Default: as it is."),
    ] = None,
) -> Answer:
    """Keep an entry as it is judged, disqualify it, or waive its penalty; a later ruling replaces it."""
    with open_admin() as admin:
        ruling = admin.rulings.rule(submission, kind, reason, memorising)
    return Answer(ruling, f"{submission}: {ruling['kind']}.")


@app.command("list", **IDS)
@answers
def list_rulings(submission: EntryId) -> Listing:
    """List the rulings on an entry; `rebuttal list` has what is said against them."""
    with open_admin() as admin:
        rulings = admin.rulings.of(submission)["rulings"]
    return Listing(rulings, columns("id", "kind", "reason", "by=author", "at=created_at"), "There is no ruling.")


@app.command(**IDS)
@answers
def stakes(submission: EntryId) -> Listing:
    """Say what would change on the boards if the newest ruling on an entry were another; changes nothing."""
    with open_admin() as admin:
        impacts = admin.rulings.stakes(submission)
    shown = columns("kind", "track", "rank before=before", "rank after=after") | {"medals and prizes of": _teams}
    return Listing(impacts, shown, "No other ruling would change the boards.")


def _teams(stake: View) -> list[str]:
    return [turn["team"] for turn in stake["turns"]]
