"""``kennel recover``: the command and its options."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from kennel_client.cli.output import AcceptWeakerSandbox, Answer, answers
from kennel_client.progress import show_progress
from scorer.lifecycle import STAGES

app = typer.Typer()


@answers(app)
def recover(
    generator: Annotated[Path, typer.Argument(help="The generator, as an ONNX file.")],
    train: Annotated[Path, typer.Option(help="Zip or folder of the generator's training images.")],
    held_out: Annotated[Path, typer.Option(help="Zip or folder of similar images that are not training images.")],
    latent: Annotated[
        int | None,
        typer.Option(min=1, help="The latent dimension. Omit it if the generator maps images to images."),
    ] = None,
    distribution: Annotated[
        Literal["normal", "uniform"],
        typer.Option(help="Distribution of the latents: standard normal, or uniform on [-1, 1]."),
    ] = "normal",
    size: Annotated[int, typer.Option(min=1, help="Width and height in pixels at which images are compared.")] = 64,
    targets: Annotated[int, typer.Option(min=8, help="Number of training and of held-out images to search for.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    method: Annotated[
        Literal["wolfe", "authors"],
        typer.Option(help="How to search: with a line search, or as the paper's authors did (50 steps of length 1)."),
    ] = "wolfe",
    starts: Annotated[
        int | None,
        typer.Option(min=1, help="Starting points per image, at most. Default: 3, or 1 with --method authors."),
    ] = None,
    stability: Annotated[
        int, typer.Option(min=0, help="Also search for N of the generator's own images, each from N starting points.")
    ] = 0,
    encoder: Annotated[
        Path | None,
        typer.Option(help="ONNX file of an encoder that maps images to inputs of the generator. Replaces the search."),
    ] = None,
    region: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="Compare only this region: top, left, bottom and right, from 0 to 1."),
    ] = None,
    entry: Annotated[
        Path | None,
        typer.Option(help="Zip or folder of an entry's images. Also checks whether the generator made them."),
    ] = None,
    extractor: Annotated[str, typer.Option(help="The extractor that compares the images of --entry.")] = "inception_v3",
    weights: Annotated[Path | None, typer.Option(help="Folder of extractor weights, if not in a package.")] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Write the target and recovered images side by side to this PNG file.")
    ] = None,
    accept_weaker_sandbox: AcceptWeakerSandbox = False,
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
