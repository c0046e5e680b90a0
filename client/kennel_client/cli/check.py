"""``kennel check``: the service's check of a zip or a generator, and objections to a zip's images, on this machine."""

from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from kennel_client.api import open_file
from kennel_client.archive.listing import ImageSpec, is_generator, refuse_generator
from kennel_client.archive.objections import PixelHash, objections_to
from kennel_client.archive.zip_check import check_zip, has_pillow
from kennel_client.cli.connection import err, load_competition, needs_server
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import (
    AcceptWeakerSandbox,
    Answer,
    LatentClasses,
    LatentDimension,
    LatentDistribution,
    RequiredBy,
    answers,
)
from kennel_client.errors import Invalid, Unreadable, naming
from kennel_client.progress import COMPARING, show_progress
from kennel_client.submit import StageProgress, to_share_callback

app = typer.Typer()
GENERATORS = "deploy.cli.drawing"
"""The module of an installed server that checks generators."""
SIZE = 64


@answers(app)
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The zip of images, or the ONNX file of a generator.")],
    count: Annotated[int, typer.Option(min=1, help="Number of images in a zip or in a draw.")] = 10_000,
    size: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Width and height of the images in pixels. Default: {SIZE} in a zip, any for a generator."
        ),
    ] = None,
    competition: RequiredBy = None,
    train: Annotated[
        Path | None, typer.Option(help="A zip of training images. Also reports copies of them; needs Pillow.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Also exit with status 1 for duplicates and copies of training images. Needs Pillow."
        ),
    ] = False,
    latent: LatentDimension = None,
    distribution: LatentDistribution = None,
    classes: LatentClasses = None,
    accept_weaker_sandbox: AcceptWeakerSandbox = False,
) -> Answer:
    """Check a zip or a generator as the service would, without uploading it. If it has faults, list them and exit with
    status 1.

    If Pillow is installed, the command also decodes the pixels of a zip and reports duplicate images and, with --train,
    copies of training images. A generator runs in a sandbox, which needs the server's packages.
    """
    view: Mapping[str, Any] | None = None
    if competition is not None:
        view = load_competition(competition)
        count, size = view["image_count"], view["image_size"]
    spec = ImageSpec(count=count, size=size or SIZE)
    with open_file(file) as opened, naming(file):
        if view["entries"] == "generator" if view else is_generator(opened, file.name):
            if strict or train is not None:
                raise Unreadable("--strict and --train compare the images of a zip, but this is a generator.")
            answer: Answer = _load_server().check_generator(
                file,
                count=count,
                size=size,
                view=view,
                declared={"dimension": latent, "distribution": distribution, "classes": classes},
                accept_weaker_sandbox=accept_weaker_sandbox,
            )
            return answer
        refuse_generator(opened, file.name, spec)
        return _check_zip(file, opened, spec, train=train, strict=strict)


def _load_server() -> Any:
    try:
        return import_module(GENERATORS)
    except ModuleNotFoundError:
        raise needs_server("kennel check FILE.onnx", "worker") from None


def _check_zip(path: Path, file: BinaryIO, spec: ImageSpec, *, train: Path | None, strict: bool) -> Answer:
    with show_progress(err) as progress:
        if (strict or train is not None) and not has_pillow():
            raise Unreadable("--strict and --train compare pixels, which needs Pillow. Run: pip install pillow")
        checked = check_zip(file, spec, to_share_callback(progress))
        training = [] if train is None else _training_hashes(train, spec.size, progress)
        objections = objections_to(checked.pixel_hashes, training)
    document = {
        "file": str(path),
        "count": spec.count,
        "size": spec.size,
        "pixels_decoded": checked.pixels_decoded,
        "ignored": checked.ignored,
        "objections": [asdict(objection) for objection in objections],
    }
    lines = [f"{path}: {checked}.", checked.ignored or "", *(objection.sentence for objection in objections)]
    text = "\n".join(filter(None, lines))
    return Answer(document, text, ExitCode.FAULTY if strict and objections else ExitCode.DONE)


def _training_hashes(path: Path, size: int, progress: StageProgress) -> list[PixelHash]:
    from kennel_client.archive.training_images import training_hashes  # noqa: PLC0415 - Pillow is not a requirement

    try:
        with open_file(path) as file:
            return training_hashes(file, size, lambda done, total: progress(COMPARING, done / total))
    except Invalid as error:
        raise Unreadable(f"{path}: {error.message}") from None
