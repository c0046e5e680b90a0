"""``kennel admin rebuttal``: what teams say against rulings and penalties, and the answers."""

from typing import Annotated, Literal

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, answers, columns

app = typer.Typer(no_args_is_help=True, help="Rebuttals of teams: list, answer.")


@app.command("list")
@answers
def list_rebuttals(competition: Slug) -> Listing:
    """List the rebuttals without an answer, oldest first."""
    with open_admin() as admin:
        rebuttals = admin.rebuttals.unanswered(competition)
    shown = columns("id", "entry=submission_id", "track", "by=written_by", "at=created_at", "text")
    return Listing(rebuttals, shown, "Every rebuttal is answered.")


@app.command()
@answers
def answer(
    rebuttal: Annotated[int, typer.Argument(help="Its number, as `list` shows it.")],
    text: Annotated[str, typer.Argument(help="Told to the team.")],
    grant: Annotated[
        Literal["keep", "waive"] | None, typer.Option(help="Grant it by this ruling. Default: refuse it.")
    ] = None,
) -> Answer:
    """Answer a rebuttal, once: grant it with a new ruling, or refuse it."""
    with open_admin() as admin:
        rebuttals = admin.rebuttals
        decision = rebuttals.grant(rebuttal, grant, text) if grant else rebuttals.refuse(rebuttal, text)
    return Answer(decision, f"Rebuttal {rebuttal} is {'granted' if decision['granted'] else 'refused'}.")
