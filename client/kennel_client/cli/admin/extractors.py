"""``kennel admin extractor``: comparing feature spaces for the private track, and choosing one."""

from typing import Annotated

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, View, answers
from kennel_client.cli.polling import wait_until

app = typer.Typer(no_args_is_help=True, help="The private track's extractor: show, compare others, choose.")


@app.command()
@answers
def show(competition: Slug) -> Answer:
    """Show the private track's extractor, and which others may be compared with it."""
    with open_admin() as admin:
        view = admin.private_extractor.get(competition)
    counts = f"{view['scored']:,} entries scored, {view['waiting']:,} to be scored, {view['failed']:,} failed"
    candidates = ", ".join(view["candidates"]) or "none"
    return Answer(view, f"The private track has {view['extractor']}: {counts}.\nTo compare: {candidates}.")


@app.command()
@answers
def compare(
    competition: Slug,
    extractors: Annotated[list[str], typer.Argument(help="Such as efficientnet_lite2.")],
    coarse: Annotated[bool, typer.Option("--coarse", help="Take early guesses where no label is decided.")] = False,
) -> Answer:
    """Compare extractors with the private track's on labelled entries; returns when every entry is measured, and says
    how well each tells them apart."""
    with open_admin() as admin:
        admin.private_extractor.compare(competition, extractors, early_labels=coarse)
        comparison = wait_until(_is_finished, lambda: admin.private_extractor.get(competition)["comparison"], _progress)
    return Answer(comparison, "\n".join(map(_space_text, comparison["spaces"])) or "Nothing was compared.")


def _is_finished(comparison: View) -> bool:
    running = {"preparing", "measuring"}
    return not any(space["state"] in running for space in comparison["spaces"] if not space["present"])


def _progress(comparison: View) -> str:
    return "; ".join(f"{each['extractor']}: {each['state']} {each['measured']}" for each in comparison["spaces"])


def _space_text(space: View) -> str:
    said = space["error"] or space["lacks"]
    if space["choice"]:
        said = ", ".join(f"{name} {value}" for name, value in space["choice"].items())
    return f"{space['extractor']}: {space['state']}, {space['measured']:,} measured" + (f"; {said}" if said else "")


@app.command()
@answers
def choose(
    competition: Slug,
    extractor: str,
    reason: Annotated[str, typer.Option(help="Kept in the audit log.")],
    tau: Annotated[float | None, typer.Option(help="Default: half the distance of the held-out images.")] = None,
) -> Answer:
    """Give the private track another extractor, which was compared before: every entry is scored anew on it."""
    with open_admin() as admin:
        chosen = admin.private_extractor.choose(competition, extractor, reason, tau)
    text = f"The private track has {chosen['extractor']}; {chosen['waiting']:,} entries are to be scored."
    return Answer(chosen, text)
