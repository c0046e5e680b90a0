"""How often the 95 % intervals of the evidence hold, by simulation.

An interval is a finding's value plus or minus 1.96 standard errors. A *sampling* interval must contain the mean of the
value over other entries of the same generator and size, for fixed references; bias is not part of the error. A *null*
interval must contain the value that the test's hypothesis expects. An interval in a sentence holds with *at least* 95 %
certainty. Every simulation is an entry that runs through the tests as in a worker, or the errors of an audit.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import norm

from benchmarks.harness.report import Findings, MarkdownTable
from benchmarks.harness.results import BenchmarkResult
from scorer.archive import find_training_image_copies
from scorer.extractors import Features
from scorer.findings.finding import ErrorKind, Finding
from scorer.findings.sample_quality import fid_infinity_finding
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit
from scorer.metrics.copying.latent_recovery import PLAUSIBLE, VERBATIM, kolmogorov_smirnov
from scorer.metrics.copying.recovery_power import SearchStability
from scorer.metrics.copying.thumbnails import thumbnail_originals
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.fid_infinity import fid_infinity
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_influences
from scorer.metrics.sample_quality.two_sample import two_sample
from scorer.process_resources import usable_cores
from worker.evidence.analysis import AnalysedEntry, Analysis
from worker.evidence.methods import TEST_METHODS
from worker.evidence.reference import ReferenceAnalysis, analyse_reference
from worker.evidence.thumbnails import ReferenceThumbnails

FULL, QUICK = 1000, 5
"""Simulations."""
LEVEL = 0.95
BOUNDS = 0.93, 0.97
"""Bounds of the share of intervals that hold. With 1,000 simulations, its standard error is 0.7 percentage points."""
SEED = 2026
_DEVIATIONS = float(norm.ppf((1.0 + LEVEL) / 2.0))
_DIMENSION, _THUMBNAIL, _CLASSES = 12, 192, 10
_GENERATED, _TRAINING, _HELD_OUT = 300, 1200, 240
_MEMORIES = 40
LOWEST_QUANTILES = "distance_01", "distance_05"
"""They are 0 for an entry with copies."""
_NO_HASHES = np.zeros((0, 8), np.uint32)
_SLOW_OR_EMPTY = "fid-infinity", "prd", "likelihood", "perceptual-hashes"
"""Tests without a null interval that take long or have no pixels here."""

IntervalKind = ErrorKind | Literal["at least"]


class Interval(NamedTuple):
    """One simulated interval. ``truth`` is None if it is the mean over all simulations."""

    value: float
    low: float
    high: float
    kind: IntervalKind
    truth: float | None


def around(finding: Finding, truth: float | None) -> Interval:
    """The interval of a finding that has a standard error."""
    if finding.value is None or finding.standard_error is None or finding.error_kind is None:
        raise ValueError(f"{finding.name} has no interval")
    width = _DEVIATIONS * finding.standard_error
    return Interval(finding.value, finding.value - width, finding.value + width, finding.error_kind, truth)


def _find_intervals(findings: Iterable[Finding], kind: ErrorKind, truths: Mapping[str, float]) -> dict[str, Interval]:
    return {
        finding.name: around(finding, truths[finding.name] if kind == "null" else None)
        for finding in findings
        if finding.error_kind == kind and finding.value is not None
    }


Simulation = Callable[[int], Mapping[str, Interval]]
"""Simulates the entry or the audit of a seed. Returns its intervals by name of finding."""


class Images(NamedTuple):
    """The inputs of the tests: features (n, d), thumbnails (n, 192), hashes (n, 16)."""

    features: Features
    thumbnails: Features
    hashes: Any

    def rows(self, rows: Any) -> "Images":
        return Images(*(part[rows] for part in self))


def fresh_images(random: np.random.Generator, count: int, scale: float = 1.0) -> Images:
    features = np.abs(random.standard_normal((count, _DIMENSION)) * scale).astype(np.float32)
    thumbnails = random.uniform(0.0, 255.0, (count, _THUMBNAIL)).astype(np.float32)
    return Images(features, thumbnails, random.integers(0, 256, (count, 16)).astype(np.uint8))


def _joined(*parts: Images) -> Images:
    return Images(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _references(random: np.random.Generator) -> tuple[Images, ReferenceAnalysis]:
    """Training images, and their analysis with held-out images."""
    training, held_out = fresh_images(random, _TRAINING), fresh_images(random, _HELD_OUT)
    turned = np.ascontiguousarray(training.features[:, ::-1]), np.ascontiguousarray(training.thumbnails[:, ::-1])
    distances = thumbnail_originals(held_out.thumbnails, training.thumbnails, turned[1]).distance
    return training, analyse_reference(
        training.features,
        turned[0],
        held_out.features,
        thumbnails=ReferenceThumbnails(training.thumbnails, turned[1], _NO_HASHES, distances),
        signed=False,
        progress=lambda _share: None,
    )


def _analysis(images: Images, training: Images, reference: ReferenceAnalysis, *, seed: int) -> Analysis:
    statistics = statistics_of(training.features)
    closest = nearest(images.features, training.features)
    weights = np.random.default_rng(SEED).standard_normal((_DIMENSION, _CLASSES))
    mirrored = images.hashes[:, ::-1]
    entry = AnalysedEntry(
        names=[f"{row}.png" for row in range(len(images.features))],
        extractor="clip",
        features=images.features,
        thumbnails=images.thumbnails,
        perceptual_hashes=_NO_HASHES,
        hashes=images.hashes,
        mirrored_hashes=mirrored,
        copies=find_training_image_copies(images.hashes, training.hashes, training.hashes[:, ::-1]),
        logits=(images.features @ weights).astype(np.float32),
        fid=frechet_distance(statistics_of(images.features), statistics),
        distance=closest.mean,
        distance_se=closest.standard_error,
    )
    return Analysis(entry, reference, statistics, seed=seed)


def _findings(analysis: Analysis, left_out: Collection[str]) -> Iterator[Finding]:
    for method in TEST_METHODS:
        if method.test not in left_out:
            yield from method.run(analysis)


def sampling_simulation() -> Simulation:
    """A generator that makes new images, copies training images, and repeats some of its own images, also mirrored.

    This keeps every number away from the ends of its range.
    """
    random = np.random.default_rng([SEED, 0])
    training, reference = _references(random)
    memories = fresh_images(random, _MEMORIES)
    turned = memories._replace(hashes=memories.hashes[:, ::-1])

    def simulate(number: int) -> Mapping[str, Interval]:
        random = np.random.default_rng([SEED, 1, number])
        fresh, copied, repeated, mirrored = random.multinomial(_GENERATED, [0.6, 0.15, 0.15, 0.1])
        images = _joined(
            fresh_images(random, fresh, 1.1),
            training.rows(random.integers(0, _TRAINING // 2, copied)),
            memories.rows(random.integers(0, _MEMORIES, repeated)),
            turned.rows(random.integers(0, _MEMORIES, mirrored)),
        )
        analysis = _analysis(images, training, reference, seed=number)
        left_out = "fid-infinity", "perceptual-hashes"  # simulated separately; no pixels
        found = _find_intervals(_findings(analysis, left_out), "sampling", {})
        return {name: interval for name, interval in found.items() if name not in LOWEST_QUANTILES}

    return simulate


def quantile_simulation() -> Simulation:
    """A generator that copies nothing, for the lowest quantiles of the distances, which copies make 0."""
    training, reference = _references(np.random.default_rng([SEED, 5]))
    (closeness,) = (
        method for method in TEST_METHODS if LOWEST_QUANTILES[0] in {quantity.name for quantity in method.quantities}
    )

    def simulate(number: int) -> Mapping[str, Interval]:
        images = fresh_images(np.random.default_rng([SEED, 6, number]), _GENERATED, 1.1)
        found = _find_intervals(closeness.run(_analysis(images, training, reference, seed=number)), "sampling", {})
        return {name: found[name] for name in LOWEST_QUANTILES}

    return simulate


def null_simulation() -> Simulation:
    """A generator with the training images' distribution, and twice as many images to fill the bins."""
    count = 2 * _GENERATED

    def simulate(number: int) -> Mapping[str, Interval]:
        random = np.random.default_rng([SEED, 2, number])
        training, reference = _references(random)
        analysis = _analysis(fresh_images(random, count), training, reference, seed=number)
        expected = {"c_t": 0.0, "ndb_share": 0.05, "membership_auc": 0.5}
        expected |= dict.fromkeys(
            ("two_sample", "two_sample_real", "two_sample_generated"), (count - 1) / (2 * count - 1)
        )
        return _find_intervals(_findings(analysis, _SLOW_OR_EMPTY), "null", expected)

    return simulate


def fid_infinity_simulation() -> Simulation:
    """The distance between N(0, I) and N(0, 1.2^2 I) is d (1.2 - 1)^2."""
    dimension, count, scale = 8, 1000, 1.2
    reference = Statistics(np.zeros(dimension), np.eye(dimension), 10**9)

    def simulate(number: int) -> Mapping[str, Interval]:
        random = np.random.default_rng([SEED, 3, number])
        features = scale * random.standard_normal((count, dimension))
        influences = frechet_influences(features, reference)
        line = fid_infinity(features, reference, influences=influences, random=random, min_size=count // 2)
        finding = fid_infinity_finding(line, 0.0)
        return {finding.name: around(finding, dimension * (scale - 1.0) ** 2)}

    return simulate


def audit_simulation() -> Simulation:
    """An audit of a generator that makes known shares of the targets of each kind verbatim.

    It makes 80 % plausibly from one start. Its newly drawn images have the entry's distribution.
    """
    shares = {"train": 0.8, "held_out": 0.7, "near_train": 0.85, "near_held_out": 0.75, "generated": 0.95, "entry": 0.9}
    targets, starts, drawn = 200, 4, 60

    def simulate(number: int) -> Mapping[str, Interval]:
        random = np.random.default_rng([SEED, 4, number])
        errors = {kind: random.uniform(0.0, VERBATIM / share, targets) for kind, share in shares.items()}
        fresh, own = random.standard_normal((2, drawn, _DIMENSION))
        tried = random.uniform(0.0, PLAUSIBLE / 0.8, (starts, targets))
        chances = random.uniform(0.5, 1.0, targets)  # that a start finds a target
        found = np.where(random.random((starts, 1, targets)) < chances, 0.0, 1.0)
        audit = Audit(
            AuditPlan(),
            latent=None,
            errors=errors,
            distorted={},
            likeness=kolmogorov_smirnov(errors["train"], errors["held_out"]),
            by_start={"generated": np.minimum.accumulate(tried)},
            stability=SearchStability(found),
            near_share=0.1,
            features=two_sample(own, fresh, random=random),
        )
        chance = {"generator_features": (drawn - 1) / (2 * drawn - 1)}
        findings = audit.findings()
        return {
            **_find_intervals(findings, "sampling", {}),
            **_find_intervals(findings, "null", chance),
            **_own_intervals(audit, shares),
        }

    return simulate


def _own_intervals(audit: Audit, shares: Mapping[str, float]) -> Mapping[str, Interval]:
    """The intervals of the gaps and of the entry's images. The medians have the inverse ratio of the shares."""
    comparisons, match = audit.comparisons, audit.match
    assert comparisons.near is not None
    assert match is not None
    gaps = {
        "recovery_gap": (comparisons.random, shares["held_out"] / shares["train"]),
        "recovery_near_gap": (comparisons.near, shares["near_held_out"] / shares["near_train"]),
    }
    found = {
        name: Interval(test.gap, test.gap_low, test.gap_high, "at least", 1.0 - ratio)
        for name, (test, ratio) in gaps.items()
        if test.gap is not None and test.gap_low is not None and test.gap_high is not None
    }
    reach = Interval(match.entry.verbatim, match.low, match.high, "at least", shares["entry"])
    return {**found, "generator_match": reach}


SIMULATED: tuple[Callable[[], Simulation], ...] = (
    null_simulation,  # takes longest
    sampling_simulation,
    quantile_simulation,
    audit_simulation,
    fid_infinity_simulation,
)


def measure(simulations: int, *_: object) -> dict[str, dict[str, Any]]:
    """Rows by name of finding.

    Each has the ``kind``, the numbers of ``simulations`` and of intervals that ``held``, the ``mean`` and ``spread`` of
    the values, and the mean half width of the intervals divided by 1.96 (``error``).
    """
    with ProcessPoolExecutor(usable_cores(), mp_context=get_context("spawn")) as processes:
        parts = processes.map(partial(_measure_coverage, simulations=simulations), SIMULATED)
        return {name: row for part in parts for name, row in part.items()}


def _measure_coverage(prepare: Callable[[], Simulation], simulations: int) -> dict[str, dict[str, Any]]:
    simulate = prepare()
    intervals: dict[str, list[Interval]] = {}
    for number in range(simulations):
        for name, interval in simulate(number).items():
            intervals.setdefault(name, []).append(interval)
    return {name: build_row(found) for name, found in intervals.items()}


def build_row(intervals: Sequence[Interval]) -> dict[str, Any]:
    """The row of one number; see :func:`measure`."""
    values, lows, highs = np.array([(interval.value, interval.low, interval.high) for interval in intervals]).T
    truths = np.array([values.mean() if interval.truth is None else interval.truth for interval in intervals])
    if not values.std():
        raise ValueError("a number that never varies cannot test its interval")
    return {
        "kind": intervals[0].kind,
        "simulations": len(intervals),
        "held": int(((lows - 1e-12 <= truths) & (truths <= highs + 1e-12)).sum()),
        "mean": float(values.mean()),
        "spread": float(values.std(ddof=1)),
        "error": float((highs - lows).mean() / 2.0 / _DEVIATIONS),
    }


def misses(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The numbers with intervals outside :data:`BOUNDS`, with the share that holds.

    *At least* intervals have only the lower bound.
    """
    shares = {name: row["held"] / row["simulations"] for name, row in rows.items()}
    most = {name: 1.0 if row["kind"] == "at least" else BOUNDS[1] for name, row in rows.items()}
    return {name: share for name, share in shares.items() if not BOUNDS[0] <= share <= most[name]}


def findings(result: BenchmarkResult) -> Findings:
    rows, missing = result.measured, misses(result.measured)
    lines = [
        (
            f"`{name}`",
            row["kind"],
            f"{row['mean']:.4g}",
            f"{row['spread']:.3g}",
            f"{row['error']:.3g}",
            f"{100 * row['held'] / row['simulations']:.1f} %{' (misses)' if name in missing else ''}",
        )
        for name, row in sorted(rows.items())
    ]
    header = ("number", "interval", "mean", "spread", "mean half width / 1.96", "intervals that hold")
    return Findings([MarkdownTable("", header, lines)])
