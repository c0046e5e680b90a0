"""``kennel score``: the worker's measuring without database, queue or store."""

import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scorer import catalogue
from scorer.archive import (
    ImageSpec,
    PixelHashes,
    check_images,
    copies,
    list_images,
    list_references,
    read_references,
)
from scorer.errors import Invalid
from scorer.extractors import ExtractorOptions, default_mode, load
from scorer.metrics.frechet import statistics_of
from scorer.metrics.memorization import normalise
from scorer.metrics.mifid import is_copy, is_penalised, mifid
from worker.measuring import Progress, Reference, measure


def score_files(
    submission: Path,
    reference: Path,
    extractor_name: str,
    *,
    tau: float | None,
    epsilon: float,
    weights: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    """Both numbers of METRICS A1 and A2, and the score of A3 where ``tau`` is given, as ``kennel score`` prints them.

    The images' size is that of the submission's first image. Raises the same errors as the service.
    """
    spec = catalogue.find(extractor_name)
    images, hashes, size = _read_submission(submission)
    with _opened(reference) as file:
        training = read_references(file, size, lambda done, of: progress("decoding references", done / of))
    extractor = load(spec.identity, options=ExtractorOptions(weights_dir=weights, mode=default_mode()))
    features = extractor.features(training.images, progress=lambda fraction: progress("reference features", fraction))
    prepared = Reference(statistics_of(features), normalise(features), not spec.non_negative)
    numbers = measure(images, extractor, prepared, progress)
    share = copies(hashes, training.hashes, training.mirrored_hashes).share
    distance = numbers.nearest.mean
    copy = bool(is_copy(distance, share))
    judged = None if tau is None or copy else mifid(numbers.fid, distance, tau, epsilon, copied_share=share)
    return {
        "fid": numbers.fid,
        "memorization_distance": distance,
        "distance_se": numbers.nearest.standard_error,
        "tau": tau,
        "mifid": judged,
        "penalised": None if tau is None else bool(is_penalised(distance, tau)),
        "copy": copy,
        "copied_share": share,
        "images": len(images),
        "reference_images": len(training.images),
        "seconds": numbers.seconds,
        "provenance": extractor.provenance,
    }


def _read_submission(path: Path) -> tuple[NDArray[np.uint8], PixelHashes, int]:
    """The images, their hashes and their size; as many images as the zip has, as large as its first one."""
    with _opened(path) as file:
        names = list_references(file).names
        spec = ImageSpec(count=len(names), size=_width_of(path, names[0]))
        listing = list_images(file, spec)
        images = np.empty((spec.count, spec.size, spec.size, 3), np.uint8)
        return images, check_images(file, listing, spec, images), spec.size


def _width_of(path: Path, name: str) -> int:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as member, Image.open(member) as image:
            return image.width
    except (KeyError, OSError, zipfile.BadZipFile) as error:
        raise Invalid("bad-images", f"{name} in {path} cannot be read as an image: {error}.") from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise Invalid("unreadable", f"{path} cannot be read: {error.strerror}.") from None
