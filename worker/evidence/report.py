"""Evidence beside the score: every test of an entry, in one order, each number with its sentence (METRICS A7).

Shown, never ranked by. The worker's job and ``kennel score --evidence`` compose it here. All that is drawn at random
comes from one seed, a stream for each test, so that a test gives the same numbers whichever others are made.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scorer.findings.finding import Finding
from scorer.metrics.sample_quality.frechet import Statistics
from worker.evidence.analysis import AnalysedEntry, Analysis
from worker.evidence.details import details_of, evidence_columns_of
from worker.evidence.methods import TEST_METHODS, TestMethod
from worker.evidence.reference import NotComputable, ProgressCallback, ReferenceAnalysis, few_images_not_computable

EVIDENCE_VERSION = "1"
"""Raised whenever the same entry would get other evidence from the same references."""


@dataclass(frozen=True)
class EvidenceReport:
    """All that was found of an entry; JSON."""

    findings: list[dict[str, Any]]
    """In the order of :data:`worker.evidence.methods.TEST_METHODS`: test, name, value, unit, direction, sentence,
    standard_error, p_value."""
    details: dict[str, Any]
    """See :func:`worker.evidence.details.details_of`."""
    numbers: dict[str, Any]
    """See :func:`worker.evidence.details.evidence_columns_of`."""
    seconds: dict[str, float]
    """How long each test took."""


def evidence_of(
    entry: AnalysedEntry,
    grounds: ReferenceAnalysis,
    statistics: Statistics,
    reference_names: Sequence[str],
    *,
    seed: int,
    progress: ProgressCallback,
) -> EvidenceReport:
    """Examine an entry. ``statistics`` are those of the reference that its FID was measured against,
    ``reference_names`` those of the training images.

    A test that can't be made, for want of photographs or images, finds numbers that are None, and says why. What goes
    wrong otherwise raises ``Invalid``. ``progress`` hears the finished share, rising to 1.0.
    """
    case = Analysis(entry, grounds, statistics, seed=seed)
    whole, done = sum(each.weight for each in TEST_METHODS), 0.0
    findings, seconds = [], {}
    for each in TEST_METHODS:
        case.progress = _monotonic_part(progress, done / whole, (done + each.weight) / whole)
        start = time.perf_counter()
        findings += [{"test": each.test, **asdict(finding)} for finding in _run_method(each, case)]
        seconds[each.test] = round(time.perf_counter() - start, 3)
        done += each.weight
        progress(done / whole)
    return EvidenceReport(findings, details_of(case, reference_names), evidence_columns_of(case), seconds)


def _run_method(examination: TestMethod, case: Analysis) -> tuple[Finding, ...]:
    try:
        with few_images_not_computable():
            return examination.find(case)
    except NotComputable as error:
        return tuple(Finding(each.name, None, each.unit, each.direction, str(error)) for each in examination.numbers)


def _monotonic_part(progress: ProgressCallback, start: float, stop: float) -> ProgressCallback:
    """Progress of one test between two shares. It may look through several sets, and never goes back."""
    highest = start

    def tell(share: float) -> None:
        nonlocal highest
        highest = max(highest, start + share * (stop - start))
        progress(highest)

    return tell
