"""Rescoring: measures a recorded submission again on this machine, from its stored zip.

Nothing is written to the database.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session
from threadpoolctl import threadpool_limits

from scorer.archive.decoder_pool import choose_process_count
from scorer.blobs import DamagedBlob
from scorer.db import competitions
from scorer.db.submissions import submissions
from scorer.db.tables import Measurement, Submission
from scorer.errors import Conflict, Invalid, NotFound, Unavailable
from scorer.extractors import Extractor, ExtractorOptions, load
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.memorization import Nearest
from scorer.submissions.files import stored_zip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext, build_extractor_options
from worker.runtime.heartbeat import StageProgress
from worker.scoring.measure import SCORER_VERSION, environment, measure
from worker.scoring.reference_features import load_prepared
from worker.scoring.verify import MeasuredScores, MeasurementComparison, compare_scores, provenance_differences

REPEATED_OPTIONS = ("device", "batch_size", "threads")
"""The extractor options that a measurement's provenance records."""


@dataclass(frozen=True)
class RecordedMeasurement:
    """A recorded measurement, with everything needed to repeat it."""

    track: TrackKind
    row: Measurement
    artifact_key: str
    signed: bool


@dataclass(frozen=True, eq=False)
class RepeatedMeasurement:
    """A repeated measurement. ``comparison`` is None unless requested."""

    recorded: RecordedMeasurement
    scores: MeasuredScores
    standard_error: float | None
    differences: tuple[str, ...]
    comparison: MeasurementComparison | None


def rescore(
    context: WorkerContext, submission_id: str, *, verify: bool, progress: StageProgress
) -> list[RepeatedMeasurement]:
    """Repeat every measurement of a submission according to its provenance, and compare if ``verify``.

    Raises ``NotFound`` (``no-submission``, ``blob-missing``), ``Conflict`` (``not-measured``, ``imported``,
    ``other-zip``: the stored zip is not the uploaded one) and ``Unavailable`` if this machine cannot repeat a
    measurement: ``no-gpu``, ``missing-weights``, ``other-weights``, ``unreadable-artifact``.
    """
    with context.sessions() as session:
        submission, measurements = find_recorded_submission(session, submission_id)
    with TemporaryDirectory(prefix="kennel-rescore-") as folder:
        path = Path(folder) / "images.npy"
        try:
            decoded_images.decode(
                context.blobs,
                stored_zip(submission),
                decoded_images.build_image_spec(submission),
                path=path,
                progress=partial(progress, "decoding"),
                processes=choose_process_count(context.settings.decoding_processes),
            )
        except DamagedBlob as error:
            raise Conflict(
                "other-zip", f"The stored zip of {submission.id} is not the uploaded one. {error}"
            ) from error
        images: NDArray[np.uint8] = np.load(path, mmap_mode="r")
        return [
            _repeat_measurement(context, measurement, images, progress=progress, verify=verify)
            for measurement in measurements
        ]


def find_recorded_submission(session: Session, submission_id: str) -> tuple[Submission, list[RecordedMeasurement]]:
    """A submission with the newest measurement of each of its tracks, the public one first. Raises ``NotFound``, or
    ``Conflict`` if it has none yet or was imported.
    """
    submission = submissions.submission_by_id(session, submission_id)
    if submission is None:
        raise NotFound("no-submission", f"There is no submission {submission_id!r} here.")
    stored_zip(submission)  # raises for an entry without a zip, such as an imported one
    tracks = competitions.load_tracks(session, submission.competition_id)
    rows = [(kind, submissions.newest_measurement(session, submission.ref, tracks[kind].id)) for kind in TRACK_KINDS]
    measured = [(kind, row) for kind, row in rows if row is not None]
    if not measured:
        raise Conflict(
            "not-measured", f"{submission_id} has no measurement to repeat because it is {submission.status}."
        )
    return submission, [_recorded_measurement(session, kind, row) for kind, row in measured]


def _recorded_measurement(session: Session, kind: TrackKind, row: Measurement) -> RecordedMeasurement:
    key = row.provenance.get("reference")
    preparation = competitions.preparation_by_key(session, str(key))
    if preparation is None or row.artifact_key is None:
        raise NotFound("no-reference", f"The reference of the {kind} measurement ({key}) does not exist.")
    return RecordedMeasurement(kind, row, row.artifact_key, preparation.signed)


def options_from(provenance: Mapping[str, Any], base: ExtractorOptions) -> ExtractorOptions:
    """``base`` with the options that a provenance records (:data:`REPEATED_OPTIONS`)."""
    return replace(base, **{name: provenance[name] for name in REPEATED_OPTIONS if name in provenance})


def _repeat_measurement(
    context: WorkerContext,
    recorded: RecordedMeasurement,
    images: NDArray[np.uint8],
    *,
    progress: StageProgress,
    verify: bool,
) -> RepeatedMeasurement:
    provenance = recorded.row.provenance
    before = read_recorded_scores(context, recorded) if verify else None
    extractor = _load_extractor(context, recorded)
    reference = load_prepared(context, provenance["reference"], signed=recorded.signed)
    with threadpool_limits(limits=provenance.get("blas_threads"), user_api="blas"):
        numbers = measure(images, extractor, reference, progress=progress)
        now = extractor.provenance | environment() | {"scorer_version": SCORER_VERSION}
    scores = MeasuredScores(numbers.fid, numbers.nearest.mean, numbers.nearest)
    return RepeatedMeasurement(
        recorded,
        scores,
        numbers.nearest.standard_error,
        provenance_differences({**provenance, "scorer_version": recorded.row.scorer_version}, now),
        None if before is None else compare_scores(before, scores),
    )


def _load_extractor(context: WorkerContext, recorded: RecordedMeasurement) -> Extractor:
    """The extractor with the recorded options. Raises ``Unavailable`` if this machine cannot use them, or has other
    weights.
    """
    then = recorded.row.provenance
    try:
        extractor = load(then["extractor"], options=options_from(then, build_extractor_options(context.settings)))
    except (Invalid, Unavailable) as error:
        raise Unavailable(
            error.slug, f"The {recorded.track} score can't be repeated on this machine: {error.message}"
        ) from None
    now = extractor.provenance
    if now["weights_sha256"] != then["weights_sha256"]:
        raise Unavailable(
            "other-weights",
            f"The {recorded.track} score can't be repeated on this machine: the weights of {then['extractor']} "
            f"have the SHA-256 {now['weights_sha256']}; the recorded ones have {then['weights_sha256']}.",
        )
    return extractor


def read_recorded_scores(context: WorkerContext, recorded: RecordedMeasurement) -> MeasuredScores:
    """The recorded scores, with the distance of each image. Raises ``NotFound`` (``blob-missing``), or ``Unavailable``
    (``unreadable-artifact``) if the stored distances are damaged.
    """
    content = context.blobs.read(recorded.artifact_key)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            nearest = Nearest(arrays["distance"], arrays["index"])
    except Exception as error:  # noqa: BLE001 - numpy, zipfile and zlib each have their own for a damaged file
        raise Unavailable(
            "unreadable-artifact",
            f"The distances of the {recorded.track} measurement, {recorded.artifact_key}, cannot be read: {error}.",
        ) from None
    return MeasuredScores(recorded.row.fid, recorded.row.memorization_distance, nearest)
