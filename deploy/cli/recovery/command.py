"""``kennel recover``: the command and its options."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from kennel_client.cli.output import Answer, answers
from kennel_client.progress import show_progress
from scorer.lifecycle import STAGES

app = typer.Typer()


@answers(app)
def recover(
    generator: Annotated[Path, typer.Argument(help="The generator, as an ONNX file.")],
    train: Annotated[Path, typer.Option(help="The images it was trained on: a zip or folder.")],
    held_out: Annotated[
        Path, typer.Option(help="Held-out images, similar ones that it was not trained on: a zip or folder.")
    ],
    latent: Annotated[
        int | None,
        typer.Option(min=1, help="Dimension of the latent points. Default: the generator maps images to images."),
    ] = None,
    distribution: Annotated[
        Literal["normal", "uniform"], typer.Option(help="Distribution of the latent points; uniform is on [-1, 1].")
    ] = "normal",
    size: Annotated[int, typer.Option(min=1, help="Width and height at which images are compared.")] = 64,
    targets: Annotated[
        int, typer.Option(min=8, help="How many training and how many held-out images to search for.")
    ] = 200,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    method: Annotated[
        Literal["wolfe", "authors"],
        typer.Option(help="Steps of the search; authors: 50 of length 1 from one random point, as in the paper."),
    ] = "wolfe",
    starts: Annotated[
        int | None, typer.Option(min=1, help="Maximum starts per target. Default: 3, or 1 with the authors' steps.")
    ] = None,
    stability: Annotated[
        int, typer.Option(min=0, help="Also search for this many of its own images, each from this many starts.")
    ] = 0,
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="ONNX file that maps images to the generator's inputs (latent points or images), instead of a search."
        ),
    ] = None,
    region: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="Top, left, bottom, right as shares of the image: compare only this region."),
    ] = None,
    entry: Annotated[
        Path | None, typer.Option(help="A zip or folder of images that it supposedly generated: also compare these.")
    ] = None,
    extractor: Annotated[str, typer.Option(help="The feature space for comparing --entry.")] = "inception_v3",
    weights: Annotated[Path | None, typer.Option(help="Folder of the extractor's weights.")] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Write the targets next to the recovered images to this PNG.")
    ] = None,
    accept_weaker_sandbox: Annotated[
        bool,
        typer.Option("--accept-weaker-sandbox", help="Open the file even if this system lacks parts of the sandbox."),
    ] = False,
) -> Answer:
    """Use latent recovery to test whether a generator reproduces training images better than held-out images.

    The generator runs in a sandbox.
    """
    # Only commands that process images import torch.
    from deploy.cli.recovery.files import EntryFiles, recover_files, report_lines, write_pairs
    from scorer.generators.latents import Latent
    from scorer.generators.recovery.plan import plan_from

    with show_progress(Console(stderr=True, highlight=False), STAGES) as progress:
        plan = plan_from(
            {"train": targets, "held_out": targets, "method": method, "stability": stability, "seed": seed}
            | {"region": region}
            | ({} if starts is None else {"starts": starts})
        )
        audit = recover_files(
            generator,
            train,
            held_out,
            latent=None if latent is None else Latent(latent, distribution),
            size=size,
            plan=plan,
            progress=progress,
            encoder=encoder,
            entry=None if entry is None else EntryFiles(entry, extractor, weights),
            accept_weaker_sandbox=accept_weaker_sandbox,
        )
    if pairs is not None:
        write_pairs(audit, pairs)
    report = audit.report()
    return Answer(report, "\n".join(report_lines(report)))
