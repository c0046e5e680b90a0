"""``kennel check``: the service's check of a zip, on the participant's machine."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kennel_client.api import open_file, segment
from kennel_client.archive import ImageSpec, check_zip
from kennel_client.cli import tables
from kennel_client.cli.connection import connected_client, err, reported_errors
from kennel_client.cli.options import PANEL, AsJson
from kennel_client.progress import show_progress
from kennel_client.submit import share_of

app = typer.Typer()


@app.command(rich_help_panel=PANEL)
def check(
    submission: Annotated[Path, typer.Argument(help="The zip to look at.")],
    count: Annotated[int, typer.Option(min=1, help="How many images the competition asks for.")] = 10_000,
    size: Annotated[int, typer.Option(min=1, help="Their width and height in pixels.")] = 64,
    competition: Annotated[
        str | None, typer.Option(help="Ask the service for the count and size of this competition.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a zip as the service would, without sending it: exit 0, or the faults and exit 1.

    Pixels are decoded where Pillow is installed; without it everything else is checked.
    """
    spec = ImageSpec(count=count, size=size)
    if competition is not None:
        with connected_client(as_json=as_json, needs_token=False) as client:
            view = client.get(f"/competitions/{segment(competition)}")
        spec = ImageSpec(count=view["image_count"], size=view["image_size"])
    with reported_errors(as_json=as_json), open_file(submission) as file, show_progress(err) as progress:
        checked = check_zip(file, spec, share_of(progress))
    document = {
        "file": str(submission),
        "count": spec.count,
        "size": spec.size,
        "pixels_decoded": checked.pixels_decoded,
    }

    def show(out: Console) -> None:
        tables.print_text(out, f"{submission}: {checked}.")

    tables.print_answer(document, show, as_json=as_json)
