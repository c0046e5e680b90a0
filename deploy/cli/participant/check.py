"""The service's deep check of a zip, on the participant's machine."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from deploy.cli.progress import StageProgress
from scorer.archive import ImageSpec, list_images


def check_zip(file: BinaryIO, spec: ImageSpec, progress: StageProgress) -> None:
    """Raise ``Invalid`` with the first faults if the service would reject this zip for its images."""
    from worker.runtime.decoded_images import decode_file  # noqa: PLC0415 - the other commands start faster without it

    listing = list_images(file, spec)
    # On disk as in the service, because large images in full number do not fit into everybody's memory.
    with TemporaryDirectory(prefix="kennel-check-") as folder:
        decode_file(file, listing, spec, Path(folder) / "images.npy", partial(progress, "checking"))
