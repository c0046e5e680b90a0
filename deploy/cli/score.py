"""``kennel score``: the worker's measurement without database, queue or store.

Decoded images are memory-mapped from a temporary folder, so memory holds one batch at a time; only the features grow
with the number of images.
"""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deploy.cli.image_files import read_images
from kennel_client.api import open_file
from kennel_client.archive.faults import MemberError
from kennel_client.archive.zip_reader import map_members
from kennel_client.errors import naming
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
    require_two,
)
from scorer.errors import Invalid
from scorer.extractors import Extractor, ExtractorOptions, fingerprint, load
from scorer.findings.signs import find_signs
from scorer.metrics.copying.perceptual_hashes import perceptual_hashes
from scorer.metrics.copying.thumbnails import Pixels
from scorer.metrics.cosine import normalise
from scorer.metrics.memorization import closest_pairs
from scorer.metrics.mifid import is_copy, is_penalised, mifid
from scorer.metrics.sample_quality.frechet import statistics_of
from scorer.progress import ProgressCallback, StageProgress
from worker.evidence.analysis import AnalysedEntry
from worker.evidence.reference import analyse_reference
from worker.evidence.report import compute_evidence
from worker.evidence.thumbnails import load_reference_thumbnails
from worker.runtime.decoded_images import decode_file
from worker.scoring.feature_cache import build_cached_features
from worker.scoring.measure import PreparedReference, RawMeasurement, environment, measure
from worker.scoring.published_features import read_reference_features

MAX_SHOWN_PAIRS = 5
SEED = 0
"""The seed of all random draws in evidence: the same zips give the same evidence."""


@dataclass(frozen=True, eq=False)
class DecodedSubmission:
    """Images (n, size, size, 3) uint8, memory-mapped; names and hashes in the same order; ignored files in words."""

    images: NDArray[np.uint8]
    names: tuple[str, ...]
    hashes: PixelHashes
    ignored: str | None


@dataclass(frozen=True)
class EvidenceOptions:
    held_out: Path | None
    """A zip of held-out images, which are not in the reference. None: tests that need them are omitted."""
    authors: bool = False
    """Whether C_T and relative MMD are computed as in their authors' code."""


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
    """The FID, the memorization distance, the MiFID if ``tau`` is given (docs/explanation/metrics.md#the-score), and
    the closest pairs of images. With ``evidence`` also the findings of :func:`worker.evidence.report.compute_evidence`.
    The result has the shape that ``kennel score --json`` prints.

    ``reference`` is a zip or folder of images, or a file of their features (``.npz``), which allows no pixel
    comparison. The first image of the submission determines the size. Raises the same errors as the service.
    """
    spec = extractor_catalogue.find_extractor(extractor_name)
    options = ExtractorOptions(weights_dir=weights)
    fingerprint(spec.identity, options)  # raises for missing weights before anything is decoded
    with TemporaryDirectory(prefix="kennel-score-") as folder:
        entry = _decode_submission(submission, Path(folder), partial(progress, "decoding"))
        training = None
        if reference.suffix != ".npz":
            training = read_images(
                reference,
                entry.images.shape[1],
                Path(folder),
                progress=partial(progress, "reference-decoding"),
                two=True,
            )
        else:
            open_file(reference).close()  # raises if it cannot be read
        if training is None and evidence:
            raise Invalid("no-training-images", "The copying tests need the reference images, not only their features.")
        extractor = load(spec.identity, options=options)
        features = (
            read_reference_features(reference, spec.dimension)
            if training is None
            else extractor.features(training.images, progress=partial(progress, "reference-features"))
        )
        prepared = PreparedReference(statistics_of(features), normalise(features), not spec.non_negative)
        numbers = measure(entry.images, extractor, prepared, progress=progress)
        findings = None
        if evidence and training is not None:
            held_out = _held_out(evidence.held_out, entry.images.shape[1], Path(folder), progress=progress)
            findings = _make_evidence(
                entry,
                numbers,
                training,
                prepared=prepared,
                held_out=held_out,
                extractor=extractor,
                progress=progress,
                authors=evidence.authors,
            )
    share = None
    if training is not None:
        share = find_training_image_copies(entry.hashes, training.hashes, training.mirrored_hashes).share
    return _build_score(numbers, share, tau=tau, epsilon=epsilon) | {
        "images": len(entry.names),
        "reference_images": len(features),
        "ignored": [
            f"{path}: {sentence}"
            for path, sentence in ((submission, entry.ignored), (reference, training and training.ignored))
            if sentence
        ],
        "closest_pairs": _closest_pairs(numbers, entry, training),
        "evidence": findings,
        "seconds": numbers.seconds,
        "provenance": extractor.provenance | environment(),
    }


def _held_out(path: Path | None, size: int, folder: Path, *, progress: StageProgress) -> Pixels | None:
    if path is None:
        return None
    return read_images(path, size, folder, progress=partial(progress, "held-out-decoding")).images


def _make_evidence(
    entry: DecodedSubmission,
    numbers: RawMeasurement,
    training: ReferenceImages,
    *,
    prepared: PreparedReference,
    held_out: Pixels | None,
    extractor: Extractor,
    progress: StageProgress,
    authors: bool,
) -> dict[str, Any]:
    """The findings of the worker's evidence job, computed with the same functions."""
    mirrored = extractor.features(mirror_images(training.images), progress=partial(progress, "mirrored"))
    held_out_features = None
    if held_out is not None:
        held_out_features = extractor.features(held_out, progress=partial(progress, "held-out"))
    reference = analyse_reference(
        prepared.normalised.features,
        mirrored,
        held_out_features,
        thumbnails=load_reference_thumbnails(lambda: training.images, None if held_out is None else lambda: held_out),
        signed=prepared.signed,
        progress=partial(progress, "grounds"),
    )
    cached = build_cached_features(entry.images, numbers.features)
    analysed = AnalysedEntry(
        names=entry.names,
        extractor=extractor.spec.name,
        features=numbers.features,
        hashes=cached.hashes,
        mirrored_hashes=cached.mirrored_hashes,
        thumbnails=cached.thumbnails,
        perceptual_hashes=perceptual_hashes(entry.images),
        copies=find_training_image_copies(cached.hashes, training.hashes, training.mirrored_hashes),
        logits=extractor.logits(numbers.features),
        fid=numbers.fid,
        distance=numbers.nearest.mean,
        distance_se=numbers.nearest.standard_error,
    )
    report = compute_evidence(
        analysed,
        reference,
        prepared.statistics,
        reference_names=training.names,
        seed=SEED,
        authors=authors,
        progress=partial(progress, "evidence"),
    )
    signs = [sign.name for sign in find_signs(report.numbers, len(entry.names))]
    return {"signs": signs} | asdict(report)


def _build_score(numbers: RawMeasurement, share: float | None, *, tau: float | None, epsilon: float) -> dict[str, Any]:
    distance = numbers.nearest.mean
    copy = bool(is_copy(distance, share or 0.0))
    return {
        "fid": numbers.fid,
        "memorization_distance": distance,
        "distance_se": numbers.nearest.standard_error,
        "tau": tau,
        "mifid": None if tau is None or copy else mifid(numbers.fid, distance, tau, epsilon),
        "penalised": None if tau is None else bool(is_penalised(distance, tau)),
        "copy": copy,
        "copied_share": share,
    }


def _closest_pairs(
    numbers: RawMeasurement, entry: DecodedSubmission, training: ReferenceImages | None
) -> list[dict[str, Any]]:
    """The closest pairs by name; from a file of features, the reference image is a row number."""
    return [
        {
            "image": entry.names[pair.generated],
            "reference": training.names[pair.reference] if training else f"row {pair.reference}",
            "distance": pair.distance,
        }
        for pair in closest_pairs(numbers.nearest, MAX_SHOWN_PAIRS)
    ]


def _decode_submission(path: Path, folder: Path, progress: ProgressCallback) -> DecodedSubmission:
    """Decode all images of a zip; the first image determines the expected size."""
    with open_file(path) as file, naming(path):
        listing = list_references(file)
        spec = ImageSpec(count=len(listing.members), size=_read_first_width(file, listing))
        require_two(listing)
        listing = list_images(file, spec)
        decoded = folder / "images.npy"
        hashes = decode_file(file, listing, spec, path=decoded, progress=progress)
    return DecodedSubmission(np.load(decoded, mmap_mode="r"), listing.names, hashes, listing.ignored)


def _read_first_width(file: BinaryIO, listing: Listing) -> int:
    """The width in the header of the first PNG; the deep check verifies it, and that images are square."""
    [(_, content)] = map_members(file, listing.members[:1], lambda _, content: content)
    if isinstance(content, MemberError):
        raise Invalid("bad-images", f"The first image, {listing.labels[0]}, {content}.")
    if content[12:16] != b"IHDR":
        raise Invalid("bad-images", f"The first image, {listing.labels[0]}, is not a PNG.")
    return max(1, int.from_bytes(content[16:20], "big"))
