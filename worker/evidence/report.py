"""The evidence report of an entry: all tests in a fixed order, each quantity with its sentence.

docs/explanation/metrics.md#evidence describes the tests. Evidence does not affect the ranking. The worker's job and
``kennel score --evidence`` both use this module. All random draws come from one seed, with a stream per test, so that a
test gives the same numbers independently of the others.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scorer.findings.finding import Finding, with_interval_coverage
from scorer.metrics.sample_quality.frechet import Statistics
from scorer.progress import ProgressCallback
from worker.evidence.analysis import AnalysedEntry, Analysis
from worker.evidence.details import build_details, build_evidence_columns
from worker.evidence.methods import DRAWS_METHODS, SHARED_PASSES, TEST_METHODS, TestMethod
from worker.evidence.reference import NotComputable, ReferenceAnalysis, few_images_not_computable


@dataclass(frozen=True)
class EvidenceReport:
    """All findings of the tests on an entry, as JSON."""

    findings: list[dict[str, Any]]
    """In the order of :mod:`worker.evidence.methods`: test, name, value, unit, direction, sentence,
    standard_error, p_value, error_kind, interval_coverage."""
    details: dict[str, Any]
    """Examples; see :func:`worker.evidence.details.build_details`."""
    numbers: dict[str, Any]
    """Columns; see :func:`worker.evidence.details.build_evidence_columns`."""
    seconds: dict[str, float]
    """Duration of each pass over distances that several tests share, then of each test."""


def compute_evidence(
    entry: AnalysedEntry,
    reference: ReferenceAnalysis,
    statistics: Statistics,
    *,
    reference_names: Sequence[str],
    seed: int,
    authors: bool = False,
    progress: ProgressCallback,
) -> EvidenceReport:
    """Run all tests on an entry. ``statistics`` are those of the reference of its FID, ``reference_names`` those of the
    training images. ``authors`` searches within cells in the data-copying test, and computes the variance of the
    relative MMD test, as the authors' code does.

    A test without held-out images or with too few images reports quantities of None and the reason. Other faults raise
    ``Invalid``. ``progress`` receives the finished share, rising to 1.0.
    """
    analysis = Analysis(entry, reference, statistics, seed=seed, authors=authors)
    steps = (*SHARED_PASSES, *TEST_METHODS, *(DRAWS_METHODS if entry.draws else ()))
    total = sum(step.weight for step in steps)
    done = 0.0
    findings = []
    seconds = {}
    for step in steps:
        analysis.progress = _monotonic_part(progress, done / total, (done + step.weight) / total)
        start = time.perf_counter()
        if isinstance(step, TestMethod):
            findings += [{"test": step.test, **asdict(finding)} for finding in _run_method(step, analysis)]
        else:
            step.run(analysis)
        seconds[step.test] = round(time.perf_counter() - start, 3)
        done += step.weight
        progress(done / total)
    return EvidenceReport(findings, build_details(analysis, reference_names), build_evidence_columns(analysis), seconds)


def _run_method(method: TestMethod, analysis: Analysis) -> tuple[Finding, ...]:
    try:
        with few_images_not_computable():
            return tuple(map(with_interval_coverage, method.run(analysis)))
    except NotComputable as error:
        return tuple(
            Finding(quantity.name, None, quantity.unit, quantity.direction, str(error))
            for quantity in method.quantities
        )


def _monotonic_part(progress: ProgressCallback, start: float, stop: float) -> ProgressCallback:
    """Progress of one test between two shares, never decreasing: a test may go through several sets."""
    highest = start

    def report(share: float) -> None:
        nonlocal highest
        highest = max(highest, start + share * (stop - start))
        progress(highest)

    return report
