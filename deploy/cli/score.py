"""``kennel score``: the worker's measuring without database, queue or store.

Decoded images lie in a temporary folder and are mapped, so that memory holds a batch of them at a time; what grows
with their number is the features alone.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deploy.cli.image_files import open_zip, read_images
from scorer import extractor_catalogue
from scorer.archive import (
    ImageSpec,
    Listing,
    PixelHashes,
    ReferenceImages,
    find_training_image_copies,
    list_images,
    list_references,
    mirror_images,
)
from scorer.archive.faults import MemberError
from scorer.archive.zip_reader import map_members
from scorer.errors import Invalid
from scorer.extractors import Extractor, ExtractorOptions, default_mode, fingerprint, load
from scorer.extractors import ProgressCallback as Share
from scorer.findings.signs import signs_of
from scorer.metrics.copying.thumbnails import Pixels
from scorer.metrics.cosine import normalise
from scorer.metrics.memorization import closest_pairs
from scorer.metrics.mifid import is_copy, is_penalised, mifid
from scorer.metrics.sample_quality.frechet import statistics_of
from worker.evidence.analysis import AnalysedEntry as Examined
from worker.evidence.reference import reference_analysis_of
from worker.evidence.report import evidence_of
from worker.evidence.thumbnails import reference_thumbnails_of
from worker.runtime.decoded_images import decode_file
from worker.runtime.progress import StageProgress
from worker.scoring.feature_cache import cached_features_of
from worker.scoring.measure import PreparedReference, RawMeasurement, measure
from worker.scoring.provenance import environment

MAX_SHOWN_PAIRS = 5
SEED = 0
"""Of all that evidence draws: the same zips give the same evidence."""


@dataclass(frozen=True, eq=False)
class DecodedSubmission:
    """A submission decoded: images (n, size, size, 3) uint8, mapped; their names and pixel hashes, in their order."""

    images: NDArray[np.uint8]
    names: tuple[str, ...]
    hashes: PixelHashes


@dataclass(frozen=True)
class EvidenceOptions:
    """Evidence is asked for, and what an entry shall be compared with beside the reference."""

    held_out: Path | None
    """A zip of photographs that are not in the reference."""


def score_files(
    submission: Path,
    reference: Path,
    extractor_name: str,
    *,
    tau: float | None,
    epsilon: float,
    weights: Path | None,
    evidence: EvidenceOptions | None,
    progress: StageProgress,
) -> dict[str, Any]:
    """Both numbers of METRICS A1 and A2, the score of A3 where ``tau`` is given, the pairs of images closest to each
    other, and what :func:`worker.evidence.report.evidence_of` finds if asked for, as ``kennel score`` prints them.

    The images' size is that of the submission's first image. Raises the same errors as the service.
    """
    spec = extractor_catalogue.find_extractor(extractor_name)
    options = ExtractorOptions(weights_dir=weights, mode=default_mode())
    fingerprint(spec.identity, options)  # missing weights are told before anything is decoded
    with TemporaryDirectory(prefix="kennel-score-") as folder:
        entry = _decode_submission(submission, Path(folder), partial(progress, "decoding"))
        training = read_images(reference, entry.images.shape[1], Path(folder), partial(progress, "reference-decoding"))
        extractor = load(spec.identity, options=options)
        prepared = _prepare_reference(training, extractor, progress)
        numbers = measure(entry.images, extractor, prepared, progress)
        found = None
        if evidence:
            fresh = _held_out(evidence.held_out, entry.images.shape[1], Path(folder), progress)
            found = _make_evidence(entry, numbers, training, prepared, fresh, extractor, progress)
    share = find_training_image_copies(entry.hashes, training.hashes, training.mirrored_hashes).share
    return _score_of(numbers, share, tau=tau, epsilon=epsilon) | {
        "images": len(entry.names),
        "reference_images": len(training.names),
        "closest_pairs": _closest_pairs(numbers, entry, training),
        "evidence": found,
        "seconds": numbers.seconds,
        "provenance": extractor.provenance | environment(),
    }


def _held_out(path: Path | None, size: int, folder: Path, progress: StageProgress) -> Pixels | None:
    if path is None:
        return None
    return read_images(path, size, folder, partial(progress, "held-out-decoding")).images


def _make_evidence(
    entry: DecodedSubmission,
    numbers: RawMeasurement,
    training: ReferenceImages,
    prepared: PreparedReference,
    held_out: Pixels | None,
    extractor: Extractor,
    progress: StageProgress,
) -> dict[str, Any]:
    """What the worker's job finds, from the same composition."""
    flipped = extractor.features(mirror_images(training.images), progress=partial(progress, "mirrored"))
    fresh = None if held_out is None else extractor.features(held_out, progress=partial(progress, "held-out"))
    grounds = reference_analysis_of(
        prepared.normalised.features,
        flipped,
        fresh,
        thumbnails=reference_thumbnails_of(lambda: training.images, None if held_out is None else lambda: held_out),
        signed=prepared.signed,
        progress=partial(progress, "grounds"),
    )
    kept = cached_features_of(entry.images, numbers.features)
    looked_at = Examined(
        names=entry.names,
        features=numbers.features,
        hashes=kept.hashes,
        mirrored_hashes=kept.mirrored_hashes,
        thumbnails=kept.thumbnails,
        copies=find_training_image_copies(kept.hashes, training.hashes, training.mirrored_hashes),
        logits=extractor.logits(numbers.features),
        fid=numbers.fid,
        distance=numbers.nearest.mean,
        distance_se=numbers.nearest.standard_error,
    )
    found = evidence_of(
        looked_at, grounds, prepared.statistics, training.names, seed=SEED, progress=partial(progress, "evidence")
    )
    signs = [each.name for each in signs_of(found.numbers, len(entry.names))]
    return {"signs": signs} | asdict(found)


def _score_of(numbers: RawMeasurement, share: float, *, tau: float | None, epsilon: float) -> dict[str, Any]:
    distance = numbers.nearest.mean
    copy = bool(is_copy(distance, share))
    return {
        "fid": numbers.fid,
        "memorization_distance": distance,
        "distance_se": numbers.nearest.standard_error,
        "tau": tau,
        "mifid": None if tau is None or copy else mifid(numbers.fid, distance, tau, epsilon, copied_share=share),
        "penalised": None if tau is None else bool(is_penalised(distance, tau)),
        "copy": copy,
        "copied_share": share,
    }


def _closest_pairs(
    numbers: RawMeasurement, entry: DecodedSubmission, training: ReferenceImages
) -> list[dict[str, Any]]:
    """The images nearest to the reference by name, each with the reference image that it is near to."""
    return [
        {
            "image": entry.names[pair.generated],
            "reference": training.names[pair.reference],
            "distance": pair.distance,
        }
        for pair in closest_pairs(numbers.nearest, MAX_SHOWN_PAIRS)
    ]


def _prepare_reference(training: ReferenceImages, extractor: Extractor, progress: StageProgress) -> PreparedReference:
    features = extractor.features(training.images, progress=partial(progress, "reference-features"))
    return PreparedReference(statistics_of(features), normalise(features), not extractor.spec.non_negative)


def _decode_submission(path: Path, folder: Path, progress: Share) -> DecodedSubmission:
    """As many images as the zip has, as large as its first one."""
    with open_zip(path) as file:
        listing = list_references(file)
        spec = ImageSpec(count=len(listing.members), size=_side_of_first(file, listing))
        listing = list_images(file, spec)
        decoded = folder / "images.npy"
        hashes = decode_file(file, listing, spec, decoded, progress)
    return DecodedSubmission(np.load(decoded, mmap_mode="r"), listing.names, hashes)


def _side_of_first(file: BinaryIO, listing: Listing) -> int:
    """The width that the header of the first PNG declares. Whether it is true, and square, the deep check will see."""
    [(_, content)] = map_members(file, listing.members[:1], lambda _, content: content)
    if isinstance(content, MemberError):
        raise Invalid("bad-images", f"The first image, {listing.names[0]}, {content}.")
    if content[12:16] != b"IHDR":
        raise Invalid("bad-images", f"The first image, {listing.names[0]}, is not a PNG.")
    return max(1, int.from_bytes(content[16:20], "big"))
