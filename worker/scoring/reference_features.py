"""Reference sets in the blob store: images, features per extractor, and a track's prepared statistics.

A blob's key contains the hashes of all inputs, so nothing is computed twice. Arrays are read memory-mapped. The
``prepare`` job computes them.
"""

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from scorer.archive import BOTTLENECK, PixelHashes, mirror_images, read_references
from scorer.archive.decoder_pool import choose_process_count
from scorer.archive.reference_set import NAMES_FILE
from scorer.competitions import preparations, shown_tracks
from scorer.competitions.preparations import FORMAT, PreparationResult
from scorer.db import competitions
from scorer.db.tables import Preparation
from scorer.errors import Unavailable
from scorer.extractors import fingerprint
from scorer.jobs import leases
from scorer.metrics.copying.thumbnails import Pixels
from scorer.metrics.cosine import NormalisedFeatures, normalise
from scorer.metrics.memorization import memorization_distance
from scorer.metrics.sample_quality.frechet import Statistics, statistics_of
from scorer.progress import StageProgress
from scorer.rescoring import campaigns
from scorer.tuning import extractor_comparison
from worker.runtime.context import WorkerContext, build_extractor_options
from worker.runtime.decoded_images import arrays_in
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.recording import record_result
from worker.scoring.measure import PreparedReference
from worker.scoring.published_features import read_reference_features

IMAGES_PER_CHUNK = 1024
"""The number of images in a stored piece. After an interruption, only an incomplete piece is computed again."""


@dataclass(frozen=True)
class SetAddress:
    """A reference set at the competition's image size."""

    sha256: str
    blob_key: str
    size: int

    @property
    def holds_features(self) -> bool:
        """Whether it is a file of features instead of images."""
        return self.blob_key.endswith(".npz")

    @property
    def folder(self) -> str:
        """The folder of the blob store for everything computed from it."""
        bottleneck = hashlib.sha256(f"{BOTTLENECK}|{FORMAT}".encode()).hexdigest()[:12]
        return f"reference-images/{self.sha256}/{self.size}-{bottleneck}"


def load_set_addresses(session: Session, set_ids: Sequence[int | None], image_size: int) -> list[SetAddress]:
    """The addresses of reference sets in the order of ``set_ids``, without those that are None."""
    rows = competitions.reference_sets(session, [set_id for set_id in set_ids if set_id is not None])
    return [SetAddress(row.sha256, row.blob_key, image_size) for row in rows]


def write_array(context: WorkerContext, key: str, array: NDArray[Any]) -> None:
    """Store an array as a .npy blob."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    context.blobs.write(key, buffer.getvalue())


def _write_mapped(context: WorkerContext, key: str, array: NDArray[Any]) -> None:
    """Store an array from a .npy file, without reading it into memory."""
    if not isinstance(array, np.memmap):
        raise TypeError("not a mapped array")
    array.flush()
    context.blobs.write_file(key, Path(str(array.filename)))


def read_array(context: WorkerContext, key: str) -> NDArray[Any]:
    """Map an array that was stored as a .npy blob."""
    array: NDArray[Any] = np.load(
        context.blobs.local(key, context.scratch / "blobs"), mmap_mode="r", allow_pickle=False
    )
    return array


def decode_set(context: WorkerContext, address: SetAddress, progress: StageProgress) -> None:
    """Decode a set to the competition's image size, once, and store ``images``, ``hashes``, ``mirrored``, ``names``."""
    if context.blobs.exists(f"{address.folder}/{NAMES_FILE}"):
        return
    context.scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=context.scratch) as folder, context.blobs.open(address.blob_key) as file:
        decoded = read_references(
            file,
            address.size,
            lambda done, of: progress("decoding", done / of),
            allocate=arrays_in(Path(folder)),
            processes=choose_process_count(context.settings.decoding_processes),
        )
        _write_mapped(context, f"{address.folder}/images.npy", decoded.images)
    write_array(context, f"{address.folder}/hashes.npy", decoded.hashes)
    write_array(context, f"{address.folder}/mirrored.npy", decoded.mirrored_hashes)
    # written last, because it marks the others as complete
    context.blobs.write(f"{address.folder}/{NAMES_FILE}", json.dumps(decoded.names).encode())


def load_image_names(context: WorkerContext, address: SetAddress) -> list[str]:
    """The image names of a set in canonical order."""
    names: list[str] = json.loads(context.blobs.read(f"{address.folder}/{NAMES_FILE}"))
    return names


def load_images(context: WorkerContext, address: SetAddress, progress: StageProgress) -> Pixels:
    """The images of a set, (n, size, size, 3) uint8 or float32, in canonical order."""
    decode_set(context, address, progress)
    return read_array(context, f"{address.folder}/images.npy")


def load_pixel_hashes(context: WorkerContext, address: SetAddress) -> tuple[PixelHashes, PixelHashes]:
    """The pixel hashes of a set's images and of their mirror images."""
    return read_array(context, f"{address.folder}/hashes.npy"), read_array(context, f"{address.folder}/mirrored.npy")


def load_features(
    context: WorkerContext, address: SetAddress, identity: str, *, progress: StageProgress
) -> NDArray[np.float32]:
    """A set's features from the extractor ``name@version``, (n, d) float32, computed once."""
    decode_set(context, address, progress)
    key = f"{address.folder}/features-{fingerprint(identity, build_extractor_options(context.settings))[:16]}.npy"
    if not context.blobs.exists(key):
        images = read_array(context, f"{address.folder}/images.npy")
        extractor = context.extractor(identity)
        write_array(context, key, extractor.features(images, progress=lambda fraction: progress("features", fraction)))
    return read_array(context, key)


def load_mirrored_features(
    context: WorkerContext, address: SetAddress, identity: str, *, progress: StageProgress
) -> NDArray[np.float32]:
    """The features of a set's mirror images, (n, d) float32, computed once. They are stored in pieces, so an
    interrupted job continues after the last complete piece.
    """
    key = f"{address.folder}/mirrored-{fingerprint(identity, build_extractor_options(context.settings))[:16]}"
    if not context.blobs.exists(f"{key}.npy"):
        images = mirror_images(load_images(context, address, progress))
        pieces = [f"{key}/{start:06}.npy" for start in range(0, len(images), IMAGES_PER_CHUNK)]
        for number, piece in enumerate(pieces):
            if not context.blobs.exists(piece):
                chunk = images[number * IMAGES_PER_CHUNK : (number + 1) * IMAGES_PER_CHUNK]
                chunk_progress = partial(_chunk_progress, progress, number=number, count=len(pieces))
                write_array(context, piece, context.extractor(identity).features(chunk, progress=chunk_progress))
        write_array(context, f"{key}.npy", np.concatenate([read_array(context, piece) for piece in pieces]))
        context.blobs.delete_all(pieces)
    return read_array(context, f"{key}.npy")


def _chunk_progress(progress: StageProgress, share: float, *, number: int, count: int) -> None:
    progress("mirrored", (number + share) / count)


def prepare_reference(
    context: WorkerContext,
    key: str,
    identity: str,
    *,
    sets: list[SetAddress],
    held_out: SetAddress | None,
    signed: bool,
    progress: StageProgress,
) -> PreparationResult:
    """Compute and store a track's reference: normalised features, and statistics with their factor. If the first set is
    a file of features, these are used, and the images of the other sets are only decoded.
    """
    if sets[0].holds_features:
        dimension = context.extractor(identity).spec.dimension
        file = context.blobs.local(sets[0].blob_key, context.scratch / "blobs")
        features = read_reference_features(file, dimension)
        for address in sets[1:]:
            decode_set(context, address, progress)
    else:
        features = np.concatenate([load_features(context, address, identity, progress=progress) for address in sets])
    progress("statistics", 0.0)
    statistics = statistics_of(features)
    normalised = normalise(features)
    for name, array in _parts(statistics, normalised).items():
        write_array(context, f"preparations/{key}/{name}.npy", array)
    progress("held-out", 0.0)
    held_out_distance = None
    if held_out is not None:
        held_out_features = load_features(context, held_out, identity, progress=progress)
        held_out_distance = memorization_distance(held_out_features, normalised, signed=signed)
    provenance = context.extractor(identity).provenance | {"bottleneck": BOTTLENECK, "format": FORMAT}
    count, dimension = features.shape
    return PreparationResult(count, dimension, held_out_distance, provenance)


def _parts(statistics: Statistics, normalised: NormalisedFeatures) -> dict[str, NDArray[Any]]:
    if statistics.factor is None:
        raise ValueError("a reference's statistics need their factor")
    return {
        "mean": statistics.mean,
        "covariance": statistics.covariance,
        "factor": statistics.factor,
        "features": normalised.features,
        "squares": normalised.squares,
    }


def load_prepared(context: WorkerContext, key: str, *, signed: bool) -> PreparedReference:
    """Map a prepared reference; ``NotFound`` if its blobs are gone."""

    def part(name: str) -> NDArray[Any]:
        return read_array(context, f"preparations/{key}/{name}.npy")

    normalised = NormalisedFeatures(part("features"), part("squares"))
    statistics = Statistics(part("mean"), part("covariance"), len(normalised), part("factor"))
    return PreparedReference(statistics, normalised, signed)


def require_same_weights(provenance: dict[str, Any], preparation: Preparation) -> None:
    """Raise ``Unavailable`` (``other-weights``) unless the extractor has the weights of the prepared reference.

    Different weights give a different feature space, even with an extractor of the same name.
    """
    expected = (preparation.provenance or {}).get("weights_sha256")
    if provenance.get("weights_sha256") != expected:
        raise Unavailable(
            "other-weights",
            f"The weights of {preparation.extractor} on this machine differ from those of the prepared "
            "references: restore those weights, or require the new ones (KENNEL_WEIGHTS_SHA256) and prepare the "
            "references again.",
        )


def prepare_references(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Compute and record a track's preparation with its first threshold, and continue the jobs that waited for it."""
    with context.transaction() as session:
        preparation = session.get_one(Preparation, claim.job.preparation_id)
        sets = load_set_addresses(session, preparation.reference_set_ids, preparation.image_size)
        held_out = load_set_addresses(session, [preparation.held_out_set_id], preparation.image_size)
    prepared = prepare_reference(
        context,
        preparation.key,
        preparation.extractor,
        sets=sets,
        held_out=held_out[0] if held_out else None,
        signed=preparation.signed,
        progress=heartbeat,
    )

    record_result(heartbeat, _record_preparation, prepared)


def _record_preparation(session: Session, claim: leases.Claim, prepared: PreparationResult, *, now: datetime) -> bool:
    """Record a preparation and continue the jobs that waited for it; False if the claim no longer holds the job."""
    recorded = preparations.record_preparation(session, claim, prepared, now=now)
    if recorded:
        preparation = session.get_one(Preparation, claim.job.preparation_id)
        extractor_comparison.continue_comparisons(session, preparation.id, now=now)
        campaigns.continue_campaigns(session, preparation.id, now=now)
        shown_tracks.queue_prepared(session, preparation.id, now=now)
    return recorded
