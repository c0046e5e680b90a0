"""``kennel admin shown-track``: numbers that stand on the board beside the ranked ones, and rank nothing."""

import math
from collections.abc import Callable
from typing import Annotated, Literal

import typer

from kennel_client.answers.network import ShownTrackView
from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, View, answers
from kennel_client.errors import Unreadable

app = typer.Typer(no_args_is_help=True, help="Numbers that are shown and not ranked: list, add, remove, measure.")
Name = Annotated[str, typer.Argument(help="Its name, as `list` shows it.")]


@app.command("list")
@answers
def list_shown_tracks(competition: Slug) -> Listing:
    """List the shown tracks of a competition, and how far each is."""
    with open_admin() as admin:
        tracks = admin.shown_tracks.all(competition)
    rows = [{**track, **(track["progress"] or {})} for track in tracks]
    names = ("name", "metric", "extractor", "reference", "visibility", "state")
    counts = ("measured", "waiting", "failed", "missing", "error")
    return Listing(rows, {name: _field(name) for name in (*names, *counts)}, "There are no shown tracks.")


def _field(name: str) -> Callable[[View], object]:
    return lambda row: row.get(name)


@app.command()
@answers
def add(
    competition: Slug,
    name: Annotated[str, typer.Argument(help="Its column's name: small letters, digits, underscores.")],
    metric: Annotated[str, typer.Argument(help="Such as fid, kid, cmmd, precision, coverage, vendi.")],
    extractor: Annotated[str, typer.Argument(help="The network, such as dinov2.")],
    reference: Annotated[
        Literal["public", "private"], typer.Option(help="Whose references it is measured against.")
    ] = "public",
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Show it to everybody at once, not with the final board.")
    ] = False,
    constant: Annotated[list[str] | None, typer.Option(help="A constant of the metric: NAME=NUMBER.")] = None,
) -> Answer:
    """Show another number beside the ranked ones; entries are measured when nothing else waits."""
    constants = dict(map(_name_and_number, constant or ()))
    with open_admin() as admin:
        shown = admin.shown_tracks.add(
            competition,
            name,
            metric,
            extractor,
            reference=reference,
            visibility="everybody" if everybody else "organizers",
            constants=constants,
        )
    return Answer(shown, _text(shown))


def _name_and_number(text: str) -> tuple[str, float]:
    name, _, written = text.partition("=")
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not name or not math.isfinite(number):  # JSON has no number for the others
        raise Unreadable(f"{text} is not NAME=NUMBER.")
    return name, number


def _text(shown: ShownTrackView) -> str:
    progress = shown["progress"]
    far = f": {progress['state']}, {progress['waiting']:,} entries to go" if progress else ""
    seen = "everybody" if shown["visibility"] == "everybody" else "organizers until the final board"
    return f"{shown['name']} ({shown['title']}, {shown['extractor']}) is shown to {seen}{far}."


@app.command()
@answers
def remove(competition: Slug, name: Name) -> Answer:
    """Show a number no more; what was measured is kept."""
    with open_admin() as admin:
        admin.shown_tracks.remove(competition, name)
    return Answer({"name": name, "removed": True}, f"{name} is shown no more.")


@app.command()
@answers
def measure(competition: Slug, name: Name) -> Answer:
    """Measure the entries that lack the number because their measurement has failed."""
    with open_admin() as admin:
        queued = admin.shown_tracks.measure_missing(competition, name)
    return Answer(queued, f"{queued['entries']:,} entries are measured when nothing else waits.")
