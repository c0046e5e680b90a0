"""``python -m benchmarks.papers.interval_coverage``: how often the 95 % intervals of the evidence hold, by simulation.

An interval is a finding's value and 1.96 of its standard errors to either side. A *sampling* interval shall hold the
mean of the value over fresh entries of the same generator and size, the references being given; the bias of a number
is not its error. A *null* interval shall hold what the test's hypothesis expects, everything being drawn anew.
Every simulation is an entry that goes through the tests as a worker runs them. Writes
``results/interval_coverage.json`` and ``COVERAGE.md``.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from benchmarks.harness.report import MarkdownTable, markdown_of
from scorer.archive import find_training_image_copies
from scorer.extractors import Features
from scorer.findings.finding import ErrorKind, Finding
from scorer.findings.latent_recovery import recovery_findings
from scorer.findings.sample_quality import fid_infinity_finding
from scorer.metrics.copying.latent_recovery import VERBATIM, RecoveryComparisons, kolmogorov_smirnov, recovery_test
from scorer.metrics.copying.thumbnails import thumbnail_originals
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.fid_infinity import fid_infinity
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_influences
from worker.evidence.analysis import AnalysedEntry, Analysis
from worker.evidence.methods import TEST_METHODS
from worker.evidence.reference import ReferenceAnalysis, reference_analysis_of
from worker.evidence.thumbnails import ReferenceThumbnails

HERE = Path(__file__).parents[1]
SIMULATIONS = 1000
LEVEL = 0.95
BOUNDS = 0.93, 0.97
"""Of the share of the intervals that hold: with 1,000 simulations it is known to 0.7 percentage points."""
SEED = 2026
_DIMENSION, _THUMBNAIL, _CLASSES = 12, 192, 10
_GENERATED, _TRAINING, _HELD_OUT = 300, 1200, 240
_MEMORIES = 40
_NO_HASHES = np.zeros((0, 8), np.uint32)
_SLOW_OR_EMPTY = "fid-infinity", "prd", "likelihood", "perceptual-hashes"
"""Tests without a null interval that take their time, or find no pixels here."""

log = logging.getLogger(__name__)


class Interval(NamedTuple):
    """One simulated interval. ``truth`` is None where it is the mean over all simulations."""

    value: float
    error: float
    kind: ErrorKind
    truth: float | None


Simulation = Callable[[int], Mapping[str, Interval]]
"""Simulates the entry of a seed: its intervals by the findings' names."""


class Images(NamedTuple):
    """What the tests see of images: features (n, d), thumbnails (n, 192), hashes (n, 16)."""

    features: Features
    thumbnails: Features
    hashes: Any

    def rows(self, rows: Any) -> "Images":
        """Some of the images."""
        return Images(*(part[rows] for part in self))


def fresh_images(random: np.random.Generator, count: int, scale: float = 1.0) -> Images:
    """Images without any likeness to others."""
    features = np.abs(random.standard_normal((count, _DIMENSION)) * scale).astype(np.float32)
    thumbnails = random.uniform(0.0, 255.0, (count, _THUMBNAIL)).astype(np.float32)
    return Images(features, thumbnails, random.integers(0, 256, (count, 16)).astype(np.uint8))


def _joined(*parts: Images) -> Images:
    return Images(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _reference(training: Images, held_out: Images) -> ReferenceAnalysis:
    turned = np.ascontiguousarray(training.features[:, ::-1]), np.ascontiguousarray(training.thumbnails[:, ::-1])
    originals = thumbnail_originals(held_out.thumbnails, training.thumbnails, turned[1])
    thumbnails = ReferenceThumbnails(training.thumbnails, turned[1], _NO_HASHES, originals)
    return reference_analysis_of(
        training.features,
        turned[0],
        held_out.features,
        thumbnails=thumbnails,
        signed=False,
        progress=lambda _share: None,
    )


def _analysis(images: Images, training: Images, reference: ReferenceAnalysis, seed: int) -> Analysis:
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


def _findings(analysis: Analysis, kind: ErrorKind, left_out: Collection[str]) -> Iterator[Finding]:
    for method in TEST_METHODS:
        if method.test not in left_out:
            yield from (each for each in method.run(analysis) if each.error_kind == kind)


def sampling_simulation() -> Simulation:
    """A generator that makes fresh images and copies training images, and again and again some images of its own and
    their mirror images, so that no number is at an end of its range."""
    random = np.random.default_rng([SEED, 0])
    training, held_out = fresh_images(random, _TRAINING), fresh_images(random, _HELD_OUT)
    reference = _reference(training, held_out)
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
        analysis = _analysis(images, training, reference, number)
        return {
            each.name: Interval(each.value, each.standard_error, "sampling", None)
            for each in _findings(analysis, "sampling", ["fid-infinity", "perceptual-hashes"])  # by itself; no pixels
            if each.value is not None and each.standard_error is not None
        }

    return simulate


def null_simulation() -> Simulation:
    """A generator that is as good as the training images' own law, and twice as many images, for bins to fill."""
    count = 2 * _GENERATED

    def simulate(number: int) -> Mapping[str, Interval]:
        random = np.random.default_rng([SEED, 2, number])
        training, held_out = fresh_images(random, _TRAINING), fresh_images(random, _HELD_OUT)
        reference = _reference(training, held_out)
        analysis = _analysis(fresh_images(random, count), training, reference, number)
        expected = {"c_t": 0.0, "ndb_share": 0.05, "membership_auc": 0.5}
        expected |= dict.fromkeys(
            ("two_sample", "two_sample_real", "two_sample_generated"), (count - 1) / (2 * count - 1)
        )
        return {
            each.name: Interval(each.value, each.standard_error, "null", expected[each.name])
            for each in _findings(analysis, "null", _SLOW_OR_EMPTY)
            if each.value is not None and each.standard_error is not None
        }

    return simulate


def fid_infinity_simulation() -> Simulation:
    """Between N(0, I) and N(0, 1.2^2 I) the distance is d (1.2 - 1)^2."""
    dimension, count, scale = 8, 1000, 1.2
    reference = Statistics(np.zeros(dimension), np.eye(dimension), 10**9)

    def simulate(number: int) -> Mapping[str, Interval]:
        random = np.random.default_rng([SEED, 3, number])
        features = scale * random.standard_normal((count, dimension))
        line = fid_infinity(
            features,
            reference,
            influences=frechet_influences(features, reference),
            random=random,
            min_size=count // 2,
        )
        each = fid_infinity_finding(line, 0.0)
        truth = dimension * (scale - 1.0) ** 2
        return {each.name: Interval(each.value or 0.0, each.standard_error or 0.0, "sampling", truth)}

    return simulate


def recovery_simulation() -> Simulation:
    """A generator that recovers 70, 80 and 95 % of its targets verbatim."""

    def simulate(number: int) -> Mapping[str, Interval]:
        random = np.random.default_rng([SEED, 4, number])
        errors = {
            kind: random.uniform(0.0, VERBATIM / share, 200)
            for kind, share in (("train", 0.8), ("held_out", 0.7), ("generated", 0.95))
        }
        likeness = kolmogorov_smirnov(errors["train"], errors["held_out"])
        findings = recovery_findings(RecoveryComparisons(recovery_test(**errors)), errors, {}, likeness)
        return {
            each.name: Interval(each.value or 0.0, each.standard_error, "sampling", None)
            for each in findings
            if each.standard_error is not None
        }

    return simulate


SIMULATED: tuple[Callable[[], Simulation], ...] = (
    recovery_simulation,
    fid_infinity_simulation,
    sampling_simulation,
    null_simulation,
)


def coverage(simulations: int = SIMULATIONS) -> dict[str, dict[str, Any]]:
    """By the finding's name: its ``kind``, how many of ``simulations`` intervals ``held``, the ``mean`` and the
    ``spread`` of its values, and the mean of its standard ``error``."""
    rows: dict[str, dict[str, Any]] = {}
    for prepare in SIMULATED:
        rows |= _coverage_of(prepare(), simulations, prepare.__name__)
    return rows


def _coverage_of(simulate: Simulation, simulations: int, title: str) -> dict[str, dict[str, Any]]:
    intervals: dict[str, list[Interval]] = {}
    for number in range(simulations):
        for name, interval in simulate(number).items():
            intervals.setdefault(name, []).append(interval)
        if number % 100 == 99:
            log.info("%s: %d of %d", title, number + 1, simulations)
    return {name: row_of(each) for name, each in intervals.items()}


def row_of(intervals: Sequence[Interval]) -> dict[str, Any]:
    """The row of one number; see :func:`coverage`."""
    values, errors = np.array([(each.value, each.error) for each in intervals]).T
    truths = np.array([values.mean() if each.truth is None else each.truth for each in intervals])
    width = float(norm.ppf((1.0 + LEVEL) / 2.0))
    return {
        "kind": intervals[0].kind,
        "simulations": len(intervals),
        "held": int((np.abs(values - truths) <= width * errors + 1e-12).sum()),
        "mean": float(values.mean()),
        "spread": float(values.std(ddof=1)),
        "error": float(errors.mean()),
    }


def misses(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The numbers whose intervals hold less or more often than :data:`BOUNDS`, with the share that holds. A number that
    never varies can't be missed."""
    shares = {name: row["held"] / row["simulations"] for name, row in rows.items() if row["spread"] > 0.0}
    return {name: share for name, share in shares.items() if not BOUNDS[0] <= share <= BOUNDS[1]}


def table_of(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The table, as Markdown."""
    beside = misses(rows)
    header = ("number", "error", "mean", "spread", "mean standard error", "intervals that hold")
    lines = [
        (
            f"`{name}`",
            row["kind"],
            f"{row['mean']:.4g}",
            f"{row['spread']:.3g}",
            f"{row['error']:.3g}",
            f"{100 * row['held'] / row['simulations']:.1f} %{' (misses)' if name in beside else ''}",
        )
        for name, row in sorted(rows.items())
    ]
    return "\n".join(markdown_of(MarkdownTable("", header, lines))) + "\n"


def main() -> None:
    """Simulate, and write numbers and table."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    rows = coverage()
    (HERE / "results" / "interval_coverage.json").write_text(json.dumps(rows, indent=1) + "\n")
    (HERE / "COVERAGE.md").write_text(table_of(rows))
    print(table_of(rows))


if __name__ == "__main__":
    main()
