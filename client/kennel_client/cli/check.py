"""``kennel check``: the service's check of a zip, and objections to its images, on the participant's machine."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.api import open_file, segment
from kennel_client.archive.listing import ImageSpec
from kennel_client.archive.objections import PixelHash, objections_to
from kennel_client.archive.zip_check import check_zip, has_pillow
from kennel_client.cli.connection import err, open_client
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import Answer, answers
from kennel_client.errors import Invalid, Unreadable, naming
from kennel_client.progress import COMPARING, show_progress
from kennel_client.submit import StageProgress, to_share_callback

app = typer.Typer()


@answers(app)
def check(
    submission: Annotated[Path, typer.Argument(help="The zip to check.")],
    count: Annotated[int, typer.Option(min=1, help="Number of images that the competition requires.")] = 10_000,
    size: Annotated[int, typer.Option(min=1, help="Width and height of the images in pixels.")] = 64,
    competition: Annotated[
        str | None, typer.Option(help="Ask the service for the count and size that this competition requires.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="A zip of training images. Also reports copies of them; needs Pillow.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Also exit with status 1 for duplicates and copies of training images. Needs Pillow."
        ),
    ] = False,
) -> Answer:
    """Check a zip as the service would, without uploading it. If it has faults, list them and exit with status 1.

    If Pillow is installed, the command also decodes the pixels and reports duplicate images and, with --train, copies
    of training images.
    """
    spec = ImageSpec(count=count, size=size)
    if competition is not None:
        with open_client(needs_token=False) as client:
            view = client.get(f"/competitions/{segment(competition)}")
        spec = ImageSpec(count=view["image_count"], size=view["image_size"])
    with open_file(submission) as file, show_progress(err) as progress, naming(submission):
        if (strict or train is not None) and not has_pillow():
            raise Unreadable("--strict and --train compare pixels, which needs Pillow. Run: pip install pillow")
        checked = check_zip(file, spec, to_share_callback(progress))
        training = [] if train is None else _training_hashes(train, spec.size, progress)
        objections = objections_to(checked.pixel_hashes, training)
    document = {
        "file": str(submission),
        "count": spec.count,
        "size": spec.size,
        "pixels_decoded": checked.pixels_decoded,
        "ignored": checked.ignored,
        "objections": [asdict(objection) for objection in objections],
    }
    lines = [f"{submission}: {checked}.", checked.ignored or "", *(objection.sentence for objection in objections)]
    text = "\n".join(filter(None, lines))
    return Answer(document, text, ExitCode.FAULTY if strict and objections else ExitCode.DONE)


def _training_hashes(path: Path, size: int, progress: StageProgress) -> list[PixelHash]:
    from kennel_client.archive.training_images import training_hashes  # noqa: PLC0415 - Pillow is not a requirement

    try:
        with open_file(path) as file:
            return training_hashes(file, size, lambda done, total: progress(COMPARING, done / total))
    except Invalid as error:
        raise Unreadable(f"{path}: {error.message}") from None
