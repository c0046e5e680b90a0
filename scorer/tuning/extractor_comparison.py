"""Which network should be private? Candidate extractors compared on the entries about which people know something."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.competitions import reference_sets
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db import tuning as rows
from scorer.db.jobs.job_queue import job_of_preparation
from scorer.db.tables import Account, ComparedDistance, Comparison, Preparation
from scorer.errors import Conflict, Invalid
from scorer.jobs import leases
from scorer.lifecycle import JobState
from scorer.metrics.statistics.threshold_selection import ThresholdChoice, choose_tau
from scorer.submissions.labels import LabelInfo, label_info_of

ComparisonState = Literal["preparing", "measuring", "done", "incomplete", "failed"]
"""``incomplete``: nobody measures what is missing; comparing again does."""


@dataclass(frozen=True)
class ComparedSpace:
    """How well the memorization distance in one extractor's space tells the known entries apart."""

    extractor: str
    present: bool
    """Whether the private track has it now."""
    state: ComparisonState
    stage: str | None
    """Of the references, while they are prepared."""
    fraction: float | None
    measured: int
    failed: int
    error: str | None
    heldout_distance: float | None
    choice: ThresholdChoice | None
    """By ``margin``, of the known entries that are measured; None where it lacks something."""
    lacks: str | None


@dataclass(frozen=True)
class ComparisonStatus:
    """A comparison as far as it is: the present space first."""

    comparison: Comparison | None
    memorising: int
    legitimate: int
    coarse: int
    """How many of these are early guesses."""
    spaces: Sequence[ComparedSpace]


def start_comparison(
    session: Session,
    state: CompetitionState,
    extractors: Sequence[str],
    *,
    coarse: bool,
    author: Account,
    now: datetime,
) -> Comparison:
    """Compare extractors with the present private one: prepare the private track's references in their spaces, and
    measure every known entry there. What was measured before is not measured again.

    ``Invalid`` for an unknown extractor or none but the present one, ``Conflict`` where nothing is known of any entry
    whose images are here.
    """
    competitions.lock_competition(session, state.competition.slug, share=False)
    present = state.tracks["private"].extractor
    spaces = dict.fromkeys(reference_sets.space_of(each) for each in extractors)
    candidates = [space for space in spaces if space.extractor != present]
    if not candidates:
        raise Invalid("no-candidates", f"Name an extractor to compare with {present}, which the private track has.")
    if not _comparable(session, state.competition.id, coarse=coarse):
        raise Conflict("no-labels", "Comparing needs labelled entries whose images are here, and there are none yet.")
    preparations = [reference_sets.preparation_of(session, state, "private", space, now=now) for space in candidates]
    comparison = Comparison(
        competition_id=state.competition.id,
        preparation_ids=[each.id for each in preparations],
        coarse=coarse,
        author_id=author.id,
        created_at=now,
    )
    session.add(comparison)
    session.flush()
    for preparation in preparations:
        reference_sets.require_work(session, preparation, now=now)
        _measure_missing(session, comparison, preparation, now=now)
    audit_log.record_action(
        session,
        "comparison.started",
        f"competition:{state.competition.slug}",
        actor=author,
        now=now,
        after={"extractors": [each.extractor for each in preparations], "coarse": coarse},
    )
    return comparison


def continue_comparisons(session: Session, preparation_id: int, *, now: datetime) -> None:
    """References have been prepared: measure the entries that waited for them."""
    (preparation,) = rows.preparations(session, [preparation_id])
    for comparison in rows.newest_comparisons_with(session, preparation_id):
        _measure_missing(session, comparison, preparation, now=now)


def _measure_missing(session: Session, comparison: Comparison, preparation: Preparation, *, now: datetime) -> None:
    if preparation.finished_at is None:
        return
    refs = _comparable(session, comparison.competition_id, coarse=comparison.coarse)
    leases.add_comparisons(session, preparation.id, rows.refs_to_measure(session, preparation.id, refs), now=now)


def _comparable(session: Session, competition_id: int, *, coarse: bool) -> dict[int, LabelInfo]:
    """The entries that a comparison is about, by ref: known to memorise or not, with their images."""
    here = rows.refs_with_images(session, competition_id)
    about = label_info_of(session, competition_id, coarse=coarse)
    return {ref: each for ref, each in about.items() if each.memorising is not None and ref in here}


def record_distance(
    session: Session,
    claim: leases.Claim,
    distance: float,
    standard_error: float | None,
    provenance: dict[str, Any],
    *,
    now: datetime,
) -> bool:
    """Keep a distance, once; False when the job was no longer that worker's."""
    if not leases.finish_job(session, claim, now):
        return False
    session.add(
        ComparedDistance(
            job_id=claim.job_id,
            submission_ref=claim.submission_ref,
            preparation_id=claim.preparation_id,
            memorization_distance=distance,
            distance_se=standard_error,
            provenance=provenance,
            created_at=now,
        )
    )
    return True


def comparison_status(session: Session, state: CompetitionState) -> ComparisonStatus:
    """The newest comparison, judged with the labels of now."""
    comparison = rows.newest_comparison(session, state.competition.id)
    coarse = comparison is not None and comparison.coarse
    about = _comparable(session, state.competition.id, coarse=coarse)
    ids = [
        state.tracks["private"].preparation_id,
        *(comparison.preparation_ids if comparison else ()),
        *rows.former_preparations(session, state.competition.id),
    ]
    spaces = [
        _space(session, each, about, present=each.id == ids[0])
        for each in rows.preparations(session, [id_ for id_ in dict.fromkeys(ids) if id_ is not None])
    ]
    memorising = sum(bool(each.memorising) for each in about.values())
    return ComparisonStatus(
        comparison=comparison,
        memorising=memorising,
        legitimate=len(about) - memorising,
        coarse=sum(each.coarse for each in about.values()),
        spaces=spaces,
    )


def _space(
    session: Session, preparation: Preparation, about: Mapping[int, LabelInfo], *, present: bool
) -> ComparedSpace:
    found = rows.distances(session, preparation.id, list(about))
    job = job_of_preparation(session, preparation.id)
    choice, lacks = _separation(found, about)
    if preparation.finished_at is None:
        progress: ComparisonState = "failed" if job is not None and job.state == JobState.FAILED else "preparing"
        errors = [job.error or ""] if job is not None and progress == "failed" else []
    else:
        missing = [ref for ref in about if ref not in found]
        errors = rows.failure_messages(session, preparation.id, missing)
        progress = _progress(session, preparation, missing, failed=len(errors))
    return ComparedSpace(
        extractor=preparation.extractor,
        present=present,
        state=progress,
        stage=job.stage if job and progress == "preparing" else None,
        fraction=job.fraction if job and progress == "preparing" else None,
        measured=len(found),
        failed=len(errors),
        error=errors[0] if errors else None,
        heldout_distance=preparation.heldout_distance,
        choice=choice,
        lacks=lacks,
    )


def _progress(session: Session, preparation: Preparation, missing: Sequence[int], *, failed: int) -> ComparisonState:
    if not missing:
        return "done"
    if rows.is_measuring(session, preparation.id, missing):
        return "measuring"
    return "failed" if failed == len(missing) else "incomplete"


def _separation(
    found: Mapping[int, float], about: Mapping[int, LabelInfo]
) -> tuple[ThresholdChoice | None, str | None]:
    refs = sorted(found)
    try:
        return choose_tau([found[ref] for ref in refs], [about[ref].memorising for ref in refs]), None
    except Invalid as error:
        return None, error.message
