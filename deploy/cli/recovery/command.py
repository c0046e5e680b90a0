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
    train: Annotated[Path, typer.Option(help="The photographs it was trained on: a zip or a folder.")],
    held_out: Annotated[Path, typer.Option(help="Photographs of the same kind that it has not seen.")],
    latent: Annotated[
        int | None,
        typer.Option(min=1, help="The dimension of its latent points. Without it, it takes images: image to image."),
    ] = None,
    distribution: Annotated[
        Literal["normal", "uniform"], typer.Option(help="How latent points are drawn; uniform is on [-1, 1].")
    ] = "normal",
    size: Annotated[int, typer.Option(min=1, help="Width and height at which images are compared.")] = 64,
    targets: Annotated[int, typer.Option(min=8, help="How many photographs of either kind are looked for.")] = 200,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    method: Annotated[
        Literal["wolfe", "authors"],
        typer.Option(help="The steps of the search; authors: 50 of length 1 from one drawn point, as in the paper."),
    ] = "wolfe",
    starts: Annotated[
        int | None, typer.Option(min=1, help="Starts of a target at most. Default: 3, with the authors' steps 1.")
    ] = None,
    stability: Annotated[
        int, typer.Option(min=0, help="Also search so many images of its own from as many same starts each.")
    ] = 0,
    encoder: Annotated[
        Path | None, typer.Option(help="ONNX, images to its inputs, latent points or images: instead of a search.")
    ] = None,
    region: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="Top, left, bottom, right as shares of the image: compare there alone."),
    ] = None,
    entry: Annotated[
        Path | None, typer.Option(help="A zip or a folder of images that it is said to have made: compare these, too.")
    ] = None,
    extractor: Annotated[str, typer.Option(help="The feature space in which --entry is compared.")] = "inception_v3",
    weights: Annotated[Path | None, typer.Option(help="Folder of the extractor's weights.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Write photographs beside what was recovered to this PNG.")] = None,
    accept_weaker_sandbox: Annotated[
        bool, typer.Option("--accept-weaker-sandbox", help="Open the file with what this system has of the sandbox.")
    ] = False,
) -> Answer:
    """Test by latent recovery whether a generator makes its training photographs better than others.

    The generator runs in a sandbox.
    """
    # Only commands that look at images import torch.
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
