"""Comparison of extractors for the private track: how well the distances of each separate labelled entries.

The reference images are prepared for every candidate, and every entry with a label (or, on request, an early label) is
measured in its feature space. The result says how well the memorization distance separates memorising from legitimate
entries: docs/explanation/metrics.md#choosing-the-private-extractor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import preparations
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db import tuning as rows
from scorer.db.jobs.job_queue import newest_job
from scorer.db.newest_rows import newest_row
from scorer.db.tables import ComparedDistance, Comparison, Preparation
from scorer.errors import Conflict, Invalid
from scorer.jobs import leases
from scorer.lifecycle import JobState
from scorer.metrics.statistics.threshold_selection import choose_tau
from scorer.submissions.labels import LabelInfo, load_label_info
from scorer.tuning.thresholds import choice_as_json

ComparisonState = Literal["preparing", "measuring", "done", "incomplete", "failed"]


@dataclass(frozen=True)
class ComparedExtractor:
    """How well the memorization distance in an extractor's feature space separates the labelled submissions."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    extractor: str
    present: bool
    """Whether the private track currently uses it."""
    state: ComparisonState
    """`incomplete` means that measurements are missing and not queued. Compare again to queue them."""
    stage: str | None
    """The stage of the preparation of the references, while it runs; `fraction` is its progress."""
    fraction: float | None
    measured: int
    failed: int
    error: str | None
    held_out_distance: float | None
    choice: dict[str, Any] | None
    """Computed from the measured labelled submissions: memorization_margin (the paper's d(M)), auc, cohens_d, and the
    tau of `margin` with its confusion matrix. Null if it cannot be computed; `lacks` gives the reason."""
    lacks: str | None


@dataclass(frozen=True)
class ComparisonStatus:
    """A comparison and its results so far, judged with the current labels."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    started_at: datetime | None
    started_by: str | None
    memorising: int
    """Submissions known to memorise."""
    legitimate: int
    early_labels: int
    """How many of these have only an early label."""
    extractors: Sequence[ComparedExtractor]
    """The private track's extractor, followed by the candidates."""


def start_comparison(
    acting: Acting,
    state: CompetitionState,
    extractors: Sequence[str],
    *,
    early_labels: bool,
    weights: Mapping[str, str],
) -> Comparison:
    """Compare extractors with the private track's: prepare its references for them, and measure all labelled entries.

    Existing measurements are reused. ``weights``: as in :func:`scorer.competitions.preparations.find_feature_space`.
    ``Invalid`` for an unknown extractor, or if only the private track's is given (``no-candidates``). ``Conflict`` if
    no entry with images has a label (``no-labels``), or no running worker has the weights (``no-worker-with-weights``).
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    present = state.tracks["private"].extractor
    spaces = dict.fromkeys(preparations.find_feature_space(extractor, weights) for extractor in extractors)
    candidates = [space for space in spaces if space.extractor != present]
    if not candidates:
        raise Invalid("no-candidates", f"Name an extractor other than {present}, which the private track already uses.")
    if not _comparable(acting.session, state.competition.id, early_labels=early_labels):
        raise Conflict("no-labels", "No entry with stored images has a label yet. Label some entries first.")
    prepared = [
        preparations.find_or_create_preparation(acting.session, state, "private", space=space, now=acting.now)
        for space in candidates
    ]
    for preparation in prepared:
        preparations.require_weights(acting.session, preparation)
    comparison = Comparison(
        competition_id=state.competition.id,
        preparation_ids=[preparation.id for preparation in prepared],
        early_labels=early_labels,
    )
    acting.add(comparison)
    for preparation in prepared:
        preparations.require_job(acting.session, preparation, now=acting.now)
        _measure_missing(acting.session, comparison, preparation, now=acting.now)
    audit_log.record_action(
        acting,
        "comparison.started",
        f"competition:{state.competition.slug}",
        after={"extractors": [preparation.extractor for preparation in prepared], "early_labels": early_labels},
    )
    return comparison


def continue_comparisons(session: Session, preparation_id: int, *, now: datetime) -> None:
    """Measure the entries that were waiting for this preparation of reference images, which has finished."""
    (preparation,) = rows.preparations(session, [preparation_id])
    for comparison in rows.newest_comparisons_with(session, preparation_id):
        _measure_missing(session, comparison, preparation, now=now)


def _measure_missing(session: Session, comparison: Comparison, preparation: Preparation, *, now: datetime) -> None:
    if preparation.finished_at is None:
        return
    refs = _comparable(session, comparison.competition_id, early_labels=comparison.early_labels)
    leases.add_comparisons(session, preparation.id, rows.refs_to_measure(session, preparation.id, refs), now=now)


def _comparable(session: Session, competition_id: int, *, early_labels: bool) -> dict[int, LabelInfo]:
    """The labels of the entries that a comparison measures, by ref. These entries have stored images and a label that
    says whether they memorise."""
    with_images = rows.refs_with_images(session, competition_id)
    labels = load_label_info(session, competition_id, early_labels=early_labels)
    return {ref: label for ref, label in labels.items() if label.memorising is not None and ref in with_images}


def record_distance(
    session: Session,
    claim: leases.Claim,
    distance: float,
    *,
    standard_error: float | None,
    provenance: dict[str, Any],
    now: datetime,
) -> bool:
    """Store a distance once and finish the job; False if the worker no longer held the job."""
    if not leases.finish_job(session, claim, now):
        return False
    session.add(
        ComparedDistance(
            job_id=claim.job.id,
            submission_ref=claim.job.submission_ref,
            preparation_id=claim.job.preparation_id,
            memorization_distance=distance,
            distance_se=standard_error,
            provenance=provenance,
            created_at=now,
        )
    )
    return True


def comparison_status(session: Session, state: CompetitionState) -> ComparisonStatus:
    """The newest comparison, judged with the current labels."""
    comparison = newest_row(session, Comparison, competition_id=state.competition.id)
    early_labels = comparison is not None and comparison.early_labels
    labels = _comparable(session, state.competition.id, early_labels=early_labels)
    present_id = state.tracks["private"].preparation_id
    preparation_ids = [
        present_id,
        *(comparison.preparation_ids if comparison else ()),
        *rows.former_preparations(session, state.competition.id),
    ]
    extractors = [
        _compared(session, preparation, labels, present=preparation.id == present_id)
        for preparation in rows.preparations(session, [id_ for id_ in dict.fromkeys(preparation_ids) if id_])
    ]
    memorising = sum(bool(label.memorising) for label in labels.values())
    return ComparisonStatus(
        started_at=comparison.created_at if comparison else None,
        started_by=comparison.author.handle if comparison else None,
        memorising=memorising,
        legitimate=len(labels) - memorising,
        early_labels=sum(label.early for label in labels.values()),
        extractors=extractors,
    )


def _compared(
    session: Session, preparation: Preparation, labels: Mapping[int, LabelInfo], *, present: bool
) -> ComparedExtractor:
    measuring = rows.is_measuring(
        session, preparation.id, list(labels)
    )  # read first, so that jobs that end meanwhile have their distance
    distances = rows.distances(session, preparation.id, list(labels))
    job = newest_job(session, preparation_id=preparation.id)
    choice, lacks = _separation(distances, labels)
    if preparation.finished_at is None:
        progress: ComparisonState = "failed" if job is not None and job.state == JobState.FAILED else "preparing"
        errors = [job.error or ""] if job is not None and progress == "failed" else []
    else:
        missing = [ref for ref in labels if ref not in distances]
        errors = rows.failure_messages(session, preparation.id, missing)
        progress = _progress(missing, measuring=measuring, failed=len(errors))
    return ComparedExtractor(
        extractor=preparation.extractor,
        present=present,
        state=progress,
        stage=job.stage if job and progress == "preparing" else None,
        fraction=job.fraction if job and progress == "preparing" else None,
        measured=len(distances),
        failed=len(errors),
        error=errors[0] if errors else None,
        held_out_distance=preparation.held_out_distance,
        choice=choice,
        lacks=lacks,
    )


def _progress(missing: Sequence[int], *, measuring: bool, failed: int) -> ComparisonState:
    if not missing:
        return "done"
    if measuring:
        return "measuring"
    return "failed" if failed == len(missing) else "incomplete"


def _separation(
    distances: Mapping[int, float], labels: Mapping[int, LabelInfo]
) -> tuple[dict[str, Any] | None, str | None]:
    refs = sorted(distances)
    try:
        choice = choose_tau([distances[ref] for ref in refs], [labels[ref].memorising for ref in refs])
    except Invalid as error:
        return None, error.message
    return choice_as_json(choice) | {"tau": choice.tau}, None
