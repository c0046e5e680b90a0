"""Rescoring: measures a recorded submission again on this machine, from its stored zip, or from its stored draws, which
are drawn again for a comparison.

Nothing is written to the database.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session
from threadpoolctl import threadpool_limits

from scorer.archive.decoder_pool import choose_process_count
from scorer.blobs import DamagedBlob
from scorer.db import competitions
from scorer.db.submissions import draws as rows
from scorer.db.submissions import submissions
from scorer.db.tables import Measurement, Submission
from scorer.errors import Conflict, Invalid, NotFound, Unavailable
from scorer.extractors import Extractor, ExtractorOptions, load
from scorer.generators.onnx_files import ValueRange
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.memorization import Nearest
from scorer.progress import StageProgress
from scorer.submissions import draws
from scorer.submissions.files import StoredZip, draw_name, image_zips, stored_zip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext, build_extractor_options
from worker.scoring.generators import read_generator
from worker.scoring.measure import SCORER_VERSION, combine, environment, measure
from worker.scoring.redraw import DrawnGenerator, RecordedDraw, RepeatedDraw, describe_machine, redraw
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
    zips: tuple[StoredZip, ...]


@dataclass(frozen=True, eq=False)
class RepeatedMeasurement:
    """A repeated measurement. ``comparison`` is None and ``draws`` is empty unless requested."""

    recorded: RecordedMeasurement
    scores: MeasuredScores
    standard_error: float | None
    differences: tuple[str, ...]
    comparison: MeasurementComparison | None
    draws: tuple[RepeatedDraw, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether everything that was compared is equal."""
        comparisons = [draw.comparison for draw in self.draws]
        return all(each is None or each.equal for each in (self.comparison, *comparisons))


def rescore(
    context: WorkerContext, submission_id: str, *, verify: bool, progress: StageProgress
) -> list[RepeatedMeasurement]:
    """Repeat every measurement of a submission according to its provenance. With ``verify``, compare, and draw the
    images of a generator again.

    Raises ``NotFound`` (``no-submission``, ``blob-missing``), ``Conflict`` (``not-measured``, ``imported``,
    ``other-zip``: the stored zip is not the uploaded one) and ``Unavailable`` if this machine cannot repeat a
    measurement: ``no-gpu``, ``missing-weights``, ``other-weights``, ``unreadable-artifact``.
    """
    with context.sessions() as session:
        submission, measurements = find_recorded_submission(session, submission_id)
    with TemporaryDirectory(prefix="kennel-rescore-") as folder:
        decoded: dict[str, NDArray[np.uint8]] = {}
        for stored in {stored for measurement in measurements for stored in measurement.zips}:
            decoded[stored.name] = _decode(context, submission, stored, folder=Path(folder), progress=progress)
        repeated = [
            _repeat_measurement(
                context,
                measurement,
                [decoded[stored.name] for stored in measurement.zips],
                progress=progress,
                verify=verify,
            )
            for measurement in measurements
        ]
        if not verify or submission.competition.entries == "images":
            return repeated
        return [
            replace(one, draws=_redraw(context, submission, one.recorded.track, decoded=decoded, progress=progress))
            for one in repeated
        ]


def _redraw(
    context: WorkerContext,
    submission: Submission,
    kind: TrackKind,
    *,
    decoded: Mapping[str, NDArray[np.uint8]],
    progress: StageProgress,
) -> tuple[RepeatedDraw, ...]:
    """Draw the images of a track again from the stored generator and the competition's secret."""
    try:
        content = read_generator(context, submission)
    except DamagedBlob as error:
        raise _other_file(submission, error) from error
    with context.sessions() as session:
        checked = rows.load_checked(session, submission.ref)
        recorded = [
            RecordedDraw(
                track=kind,
                number=draw.number,
                digest=draws.load_digest(session, submission, kind, number=draw.number, key=context.settings.draw_key),
                pixels_sha256=draw.provenance["pixels_sha256"],
                machine=describe_machine(draw.provenance),
            )
            for draw in rows.load_draws(session, submission.ref, kind)
        ]
    spec, values = decoded_images.build_image_spec(submission), cast("ValueRange", checked.values)
    generator = DrawnGenerator(content, draws.latent_of(checked), values, spec)
    return tuple(
        redraw(
            generator,
            draw,
            partial(decoded.get, draw_name(submission, kind, draw.number)),
            accept_weaker=context.settings.accept_weaker_sandbox,
            progress=progress,
        )
        for draw in recorded
    )


def _other_file(submission: Submission, error: DamagedBlob) -> Conflict:
    return Conflict("other-zip", f"The stored file of {submission.id} is not the uploaded one. {error}")


def _decode(
    context: WorkerContext, submission: Submission, stored: StoredZip, *, folder: Path, progress: StageProgress
) -> NDArray[np.uint8]:
    path = folder / f"{stored.name}.npy"
    try:
        decoded_images.decode(
            context.blobs,
            stored,
            decoded_images.build_image_spec(submission),
            path=path,
            progress=partial(progress, "decoding"),
            processes=choose_process_count(context.settings.decoding_processes),
        )
    except DamagedBlob as error:
        raise _other_file(submission, error) from error
    images: NDArray[np.uint8] = np.load(path, mmap_mode="r")
    return images


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
    return submission, [_recorded_measurement(session, submission, kind, row=row) for kind, row in measured]


def _recorded_measurement(
    session: Session, submission: Submission, kind: TrackKind, *, row: Measurement
) -> RecordedMeasurement:
    key = row.provenance.get("reference")
    preparation = competitions.preparation_by_key(session, str(key))
    if preparation is None or row.artifact_key is None:
        raise NotFound("no-reference", f"The reference of the {kind} measurement ({key}) does not exist.")
    zips = tuple(image_zips(session, submission, kind))
    return RecordedMeasurement(kind, row, row.artifact_key, preparation.signed, zips)


def options_from(provenance: Mapping[str, Any], base: ExtractorOptions) -> ExtractorOptions:
    """``base`` with the options that a provenance records (:data:`REPEATED_OPTIONS`)."""
    return replace(base, **{name: provenance[name] for name in REPEATED_OPTIONS if name in provenance})


def _repeat_measurement(
    context: WorkerContext,
    recorded: RecordedMeasurement,
    images: Sequence[NDArray[np.uint8]],
    *,
    progress: StageProgress,
    verify: bool,
) -> RepeatedMeasurement:
    provenance = recorded.row.provenance
    before = read_recorded_scores(context, recorded) if verify else None
    extractor = _load_extractor(context, recorded)
    reference = load_prepared(context, provenance["reference"], signed=recorded.signed)
    with threadpool_limits(limits=provenance.get("blas_threads"), user_api="blas"):
        numbers = combine([measure(drawn, extractor, reference, progress=progress) for drawn in images])
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
