"""``kennel draw``: the images that the service would draw from a generator."""

from pathlib import Path
from typing import Annotated

import typer

from kennel_client.cli.output import (
    AcceptWeakerSandbox,
    Answer,
    LatentClasses,
    LatentDimension,
    LatentDistribution,
    RequiredBy,
    answers,
)

app = typer.Typer()
IMAGES = 10_000
"""The images of a draw without a competition."""


@answers(app)
def draw(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ONNX file of a generator.")],
    seed: Annotated[
        str,
        typer.Option(help="A draw's digest in 64 hexadecimal digits, or any other text, whose SHA-256 is the digest."),
    ],
    count: Annotated[
        int | None, typer.Option(min=1, help=f"Number of images. Default: the competition's, else {IMAGES:,}.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A zip (*.zip) or folder for the images. Default: a zip named after the file.")
    ] = None,
    competition: RequiredBy = None,
    latent: LatentDimension = None,
    distribution: LatentDistribution = None,
    classes: LatentClasses = None,
    accept_weaker_sandbox: AcceptWeakerSandbox = False,
) -> Answer:
    """Draw the images that the service would draw from a generator with a seed, and count equal and nearly equal ones.

    The generator runs in a sandbox.
    """
    from deploy.cli.drawing import draw_generator

    return draw_generator(
        file,
        seed=seed,
        count=count,
        out=out,
        competition=competition,
        declared={"dimension": latent, "distribution": distribution, "classes": classes},
        accept_weaker_sandbox=accept_weaker_sandbox,
    )
