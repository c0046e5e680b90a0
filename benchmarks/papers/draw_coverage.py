"""How often the 95 % interval of one draw contains the mean of 50 other draws of the same generator.

That mean has an error too: 1 / sqrt(50) of that of one draw. So exact intervals hold in 94.8 % of draws.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkResult
from deploy.demo.generators import Pixels, PixelSpace, decode_codes, fit_pixel_space
from deploy.demo.photographs import bundled_photographs
from deploy.demo.plan import SEED
from scorer.extractor_catalogue import EXTRACTORS
from scorer.extractors import ExtractorOptions
from scorer.extractors.tiny import Tiny
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import Distribution
from scorer.generators.seeds import Latents, latents, private_digest
from scorer.metrics.cosine import normalise
from scorer.metrics.memorization import nearest
from scorer.metrics.mifid import EPSILON
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.ranking.uncertainty import CRITICAL_VALUE, MeasuredScores

BOUNDS = 0.93, 0.97
"""Bounds of the share of intervals that hold. With 1,000 draws, its standard error is 0.7 percentage points."""
SIDE = 16
"""Pixels of an image's side."""
NUMBERS = {"fid": "FID", "memorization_distance": "distance", "score": "score"}
"""The titles of the numbers whose intervals are tested."""


class Size(NamedTuple):
    """The images of a draw are 20 times the features of the extractor."""

    images: int = 640
    draws: int = 51
    generators: int = 20


FULL, QUICK = Size(), Size(640, 3, 2)


class Generator(NamedTuple):
    """Images from normal distributions in the first principal components of the training images: one around their mean,
    or one around each of ``classes`` training images. The narrower, the more these are copies."""

    rank: int
    distribution: Distribution = "normal"
    classes: int | None = None
    width: float = 1.0

    @property
    def name(self) -> str:
        around = f" around {self.classes} images, width {self.width}" if self.classes else ""
        return f"{self.distribution}, {self.rank} components{around}"

    def generate(self, space: PixelSpace, points: Latents) -> Pixels:
        codes = np.float32(self.width) * points[:, : self.rank]
        if self.classes:
            codes += points[:, self.rank :] @ space.codes[: self.classes]
        return decode_codes(space, codes)


GENERATORS = (
    *(Generator(*made) for made in product((5, 20, 60, 200), get_args(Distribution))),
    *(Generator(200, classes=classes, width=width) for classes, width in product((100, 1000), (0.1, 0.2, 0.4, 0.8))),
)


def measure(size: Size, *_: object) -> dict[str, Any]:
    photographs = bundled_photographs(SEED)
    train, held_out = (shrink(part.images) for part in (photographs.train, photographs.held_out))
    spec = replace(EXTRACTORS["tiny"], input_size=SIDE)
    features = Tiny(spec, ExtractorOptions()).features
    reference = features(train)
    statistics, normalised = statistics_of(reference), normalise(reference)
    tau = nearest(features(held_out), normalised).mean / 2.0

    def score(images: Pixels) -> tuple[float, ...]:
        drawn = features(images)
        closest = nearest(drawn, normalised)
        fid, error = frechet_distance(statistics_of(drawn), statistics), frechet_standard_error(drawn, statistics)
        assert error is not None
        assert closest.standard_error is not None
        return fid, error, closest.mean, closest.standard_error

    def draw_all(generator: Generator) -> MeasuredScores:
        latent = Latent(generator.rank, generator.distribution, generator.classes)
        space = fit_pixel_space(train, generator.rank, np.random.default_rng(SEED))
        digests = [private_digest(generator.name.encode(), number) for number in range(1, size.draws + 1)]
        scores = [score(generator.generate(space, latents(digest, latent, stop=size.images))) for digest in digests]
        fid, fid_se, distance, distance_se = np.array(scores).T
        return MeasuredScores(fid, fid_se, distance, distance_se, np.full(size.draws, tau), EPSILON)

    with threadpool_limits(limits=1):  # the matrices are small
        rows = {generator.name: build_row(draw_all(generator)) for generator in GENERATORS[: size.generators]}
    return {"tau": tau, "features": spec.dimension, "images": size.images, "draws": size.draws, "generators": rows}


def shrink(images: Pixels) -> Pixels:
    """Square images as means of equal squares of pixels, with sides of ``SIDE`` pixels."""
    count, side, _, channels = images.shape
    step = side // SIDE
    means = images.reshape(count, SIDE, step, SIDE, step, channels).mean(axis=(2, 4))
    shrunk: Pixels = np.rint(means).astype(np.uint8)
    return shrunk


def build_row(draws: MeasuredScores) -> dict[str, Any]:
    """The numbers of ``penalised`` and ``borderline`` draws. For each of ``NUMBERS``: the ``mean`` and the ``spread``
    over draws, the mean standard ``error``, and how many intervals ``held``. The score of other draws is that of an
    entry with all of them: penalties act on means."""
    values = {
        "fid": (draws.fid, draws.fid_se),
        "memorization_distance": (draws.distance, draws.distance_se),
        "score": (draws.score, draws.standard_error),
    }
    ends = {
        name: (value - CRITICAL_VALUE * error, value + CRITICAL_VALUE * error)
        for name, (value, error) in values.items()
    }
    ends["score"] = draws.intervals  # with both sides of the threshold
    others = {name: (value.sum() - value) / (len(draws) - 1) for name, (value, _) in values.items()}
    others["score"] = replace(draws, fid=others["fid"], distance=others["memorization_distance"]).score
    return {
        "penalised": int(draws.penalised.sum()),
        "borderline": int(draws.borderline.sum()),
        **{
            name: {
                "mean": float(value.mean()),
                "spread": float(value.std(ddof=1)),
                "error": float(error.mean()),
                "held": int(((ends[name][0] <= others[name]) & (others[name] <= ends[name][1])).sum()),
            }
            for name, (value, error) in values.items()
        },
    }


def share_held(measured: Mapping[str, Any], number: str) -> float:
    """The share of all draws whose interval held."""
    rows = measured["generators"].values()
    return float(sum(row[number]["held"] for row in rows) / (measured["draws"] * len(rows)))


def findings(result: BenchmarkResult) -> Findings:
    measured = result.measured
    header = (
        "generator",
        "penalised draws",
        *(f"{title} {part}" for title in NUMBERS.values() for part in ("", "held")),
    )
    lines = [
        (name, str(row["penalised"]), *(cell for number in NUMBERS for cell in _cells(row[number], measured["draws"])))
        for name, row in measured["generators"].items()
    ]
    targets = [
        Target(
            f"{title}: intervals that hold", round(100 * share_held(measured, number), 1), 100 * bound, at_least, " %"
        )
        for number, title in NUMBERS.items()
        for bound, at_least in zip(BOUNDS, (True, False), strict=True)
    ]
    return Findings([MarkdownTable("", header, lines)], targets)


def _cells(row: Mapping[str, float], draws: int) -> tuple[str, str]:
    """The mean, the spread and the mean standard error; and the share of intervals that held."""
    return f"{row['mean']:.4g} ± {row['spread']:.2g} ({row['error']:.2g})", f"{100 * row['held'] / draws:.0f} %"
