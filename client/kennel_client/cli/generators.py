"""``kennel generator``: upload an entry's generator, or show its audit."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from kennel_client.api import open_file, segment
from kennel_client.cli import tables
from kennel_client.cli.connection import connected_client
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.options import IDS, PANEL
from kennel_client.cli.output import Answer, answers

app = typer.Typer()


@app.command(rich_help_panel=PANEL, **IDS)
@answers
def generator(
    submission: Annotated[str, typer.Argument(metavar="ID", help="The entry that it made.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="ONNX; without it, show the state and result.")
    ] = None,
    latent: Annotated[int | None, typer.Option(min=1, help="How many numbers a latent vector has.")] = None,
    distribution: Annotated[
        Literal["normal", "uniform"], typer.Option(help="How each is drawn; uniform is on [-1, 1].")
    ] = "normal",
    as_json: bool = False,
) -> Answer:
    """Upload the generator that made an entry, as ONNX, or show the state and result of its audit."""
    if (file is None) != (latent is None):
        raise typer.BadParameter("A file needs its --latent, and --latent a file.")
    path = f"/submissions/{segment(submission)}/generator"
    with connected_client(as_json=as_json, uploading=file is not None) as client:
        if file is None:
            view = client.get(path)
        else:
            with open_file(file) as content:
                declared = {"latent": latent, "distribution": distribution}
                view = client.upload("PUT", path, content, media="application/octet-stream", **declared)
    exit_code = ExitCode.FAULTY if view["state"] in {"refused", "failed"} else ExitCode.DONE
    return Answer(view, partial(tables.print_generator, view=view), exit_code)
