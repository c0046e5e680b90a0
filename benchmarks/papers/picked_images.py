"""How far picking images lowers FID and MiFID in the demo's competition.

A team draws more images than it submits and keeps those that lower the FID to the training images, which are public.
"""

from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.report import Findings, MarkdownTable
from benchmarks.harness.results import BenchmarkResult
from deploy.demo.competition import PRIVATE, PUBLIC
from deploy.demo.entries import ENTRIES
from deploy.demo.photographs import bundled_photographs
from deploy.demo.plan import SEED
from scorer.extractors import ExtractorOptions, Features, load
from scorer.metrics.cosine import normalise
from scorer.metrics.memorization import nearest
from scorer.metrics.mifid import mifid
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.process_resources import usable_cores

GENERATORS = ("gaussian-200", "mixture")
AXES = 64


class Size(NamedTuple):
    """Images of an entry, as in the demo; drawn images; tried exchanges."""

    images: int = 400
    pools: tuple[int, ...] = (800, 1600)
    swaps: int = 20_000


FULL, QUICK = Size(), Size(80, (160,), 20)


class DemoTrack:
    """A track of the demo's competition: its extractor, prepared reference and tau."""

    def __init__(self, extractor: str, *parts: Any, held_out: Any) -> None:
        options = ExtractorOptions(device="cpu", threads=usable_cores())
        self.features = load(extractor, options=options).features
        self.reference = self.features(np.concatenate(parts))
        self._statistics, self._normalised = statistics_of(self.reference), normalise(self.reference)
        self.tau = nearest(self.features(held_out), self._normalised).mean / 2.0

    def compare(self, features: Features) -> tuple[float, float]:
        """FID and memorization distance."""
        return frechet_distance(statistics_of(features), self._statistics), nearest(features, self._normalised).mean

    def scores(self, features: Features) -> tuple[float, float]:
        """FID and MiFID."""
        fid, distance = self.compare(features)
        return fid, float(mifid(fid, distance, self.tau))


def picked(pool: Features, reference: Features, size: Size, *, random: np.random.Generator) -> Any:
    """The rows of ``size.images`` images of ``pool``, chosen to lower the Fréchet distance to ``reference``."""
    count = size.images
    variances, axes = np.linalg.eigh(np.cov(reference, rowvar=False))
    deviations, axes = np.sqrt(variances[-AXES:]), axes[:, -AXES:]
    images = (pool - reference.mean(axis=0)).astype(np.float64) @ axes

    def distance(total: Any, squares: Any) -> float:
        mean = total / count
        covariance = (squares - count * np.outer(mean, mean)) / (count - 1)
        product = np.linalg.eigvalsh(covariance * np.outer(deviations, deviations))
        return float(mean @ mean + np.trace(covariance) - 2.0 * np.sqrt(np.maximum(product, 0.0)).sum())

    rows = np.arange(len(pool))
    total, squares = images[:count].sum(axis=0), images[:count].T @ images[:count]
    lowest = distance(total, squares)
    for _ in range(size.swaps):
        inside, outside = random.integers(count), random.integers(count, len(pool))
        old, new = images[rows[inside]], images[rows[outside]]
        changed = total + new - old, squares + np.outer(new, new) - np.outer(old, old)
        if (now := distance(*changed)) < lowest:
            lowest, (total, squares) = now, changed
            rows[[inside, outside]] = rows[[outside, inside]]
    return rows[:count]


def measure(size: Size, *_: object) -> list[dict[str, Any]]:
    """The scores of picked and unpicked entries of each generator."""
    photographs = bundled_photographs(SEED)
    train, held_out = photographs.train.images, photographs.held_out.images
    tracks = {
        "public": DemoTrack(PUBLIC, train, held_out=held_out),
        "private": DemoTrack(PRIVATE, train, photographs.private_extra.images, held_out=held_out),
    }
    rows: list[dict[str, Any]] = []
    for entry in ENTRIES:
        if entry.key not in GENERATORS:
            continue
        images = entry.generate(train, size.pools[-1], np.random.default_rng(SEED))
        features = {name: track.features(images) for name, track in tracks.items()}
        starts = range(0, size.pools[-1], size.images)
        scores = {
            name: [tracks[name].scores(drawn[start : start + size.images]) for start in starts]
            for name, drawn in features.items()
        }
        rows.append({"generator": entry.key, "pool": None, "scores": scores})
        for pool in size.pools:
            with threadpool_limits(limits=1):  # the matrices are small
                rows_picked = picked(
                    features["public"][:pool], tracks["public"].reference, size, random=np.random.default_rng(SEED)
                )
            scores = {name: [tracks[name].scores(drawn[rows_picked])] for name, drawn in features.items()}
            rows.append({"generator": entry.key, "pool": pool, "scores": scores})
    return rows


def findings(result: BenchmarkResult) -> Findings:
    header = ("generator", "images", "public FID", "public MiFID", "private FID", "private MiFID")
    lines = [
        (
            f"`{row['generator']}`",
            "not picked" if row["pool"] is None else f"{FULL.images} of {row['pool']:,}",
            *(cell for name in ("public", "private") for cell in _cells(row["scores"][name])),
        )
        for row in result.measured
    ]
    return Findings([MarkdownTable("", header, lines)])


def _cells(scores: Any) -> list[str]:
    values = np.array(scores)
    errors = [f" ± {error:.1f}" for error in values.std(axis=0, ddof=1)] if len(values) > 1 else ["", ""]
    return [f"{mean:.1f}{error}" for mean, error in zip(values.mean(axis=0), errors, strict=True)]
