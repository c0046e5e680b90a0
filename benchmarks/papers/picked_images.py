"""``python -m benchmarks.papers.picked_images``: how far picking images lowers FID and MiFID in the demo's competition.

A team draws more images than it submits and keeps those that lower the FID to the training images, which everybody can
download. Writes ``results/picked_images.json`` and ``PICKED.md``.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.machine import machine
from benchmarks.harness.report import MarkdownTable, machine_line, markdown_of
from deploy.demo.competition import PRIVATE, PUBLIC
from deploy.demo.entries import ENTRIES
from deploy.demo.photographs import bundled_photographs
from deploy.demo.plan import SEED
from scorer.extractors import ExtractorOptions, Features, load
from scorer.metrics.cosine import normalise
from scorer.metrics.memorization import nearest
from scorer.metrics.mifid import mifid
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.threads import usable_cores

HERE = Path(__file__).parents[1]
GENERATORS = ("gaussian-200", "mixture")
COUNT = 400
"""Images of an entry, as in the demo."""
POOLS = (800, 1600)
AXES, SWAPS = 64, 20_000
INTRODUCTION = f"""\
Made by `python -m benchmarks.papers.picked_images` on the demo's photographs, extractors and two of its honest
generators. An entry has {COUNT} images. *Not picked* is the mean over several entries of one generator, with their
standard deviation. *{COUNT} of n*: a team draws n images and keeps {COUNT}. It starts with the first {COUNT}, and
{SWAPS:,} times exchanges a random one for a random one that it has left out, if that lowers the Fréchet distance to the
training images in the first {AXES} principal components of the public extractor's features. It knows nothing of the
private track. The tau of MiFID is half of the distance of held-out photographs (method `heldout`)."""


class DemoTrack:
    """A track of the demo's competition: its extractor, prepared reference and tau."""

    def __init__(self, extractor: str, *parts: Any, held_out: Any) -> None:
        """Prepare the track: its reference is the images of ``parts``."""
        options = ExtractorOptions(device="cpu", threads=usable_cores())
        self.features = load(extractor, options=options).features
        self.reference = self.features(np.concatenate(parts))
        self._statistics, self._normalised = statistics_of(self.reference), normalise(self.reference)
        self._tau = nearest(self.features(held_out), self._normalised).mean / 2.0

    def scores(self, features: Features) -> tuple[float, float]:
        """FID and MiFID of an entry's features."""
        fid = frechet_distance(statistics_of(features), self._statistics)
        return fid, float(mifid(fid, nearest(features, self._normalised).mean, self._tau))


def picked(pool: Features, reference: Features, random: np.random.Generator) -> Any:
    """The rows of :data:`COUNT` images of ``pool``, chosen to lower the Fréchet distance to ``reference``."""
    variances, axes = np.linalg.eigh(np.cov(reference, rowvar=False))
    deviations, axes = np.sqrt(variances[-AXES:]), axes[:, -AXES:]
    images = (pool - reference.mean(axis=0)).astype(np.float64) @ axes

    def distance(total: Any, squares: Any) -> float:
        mean = total / COUNT
        covariance = (squares - COUNT * np.outer(mean, mean)) / (COUNT - 1)
        product = np.linalg.eigvalsh(covariance * np.outer(deviations, deviations))
        return float(mean @ mean + np.trace(covariance) - 2.0 * np.sqrt(np.maximum(product, 0.0)).sum())

    rows = np.arange(len(pool))
    total, squares = images[:COUNT].sum(axis=0), images[:COUNT].T @ images[:COUNT]
    lowest = distance(total, squares)
    for _ in range(SWAPS):
        inside, outside = random.integers(COUNT), random.integers(COUNT, len(pool))
        old, new = images[rows[inside]], images[rows[outside]]
        changed = total + new - old, squares + np.outer(new, new) - np.outer(old, old)
        if (now := distance(*changed)) < lowest:
            lowest, (total, squares) = now, changed
            rows[[inside, outside]] = rows[[outside, inside]]
    return rows[:COUNT]


def measure() -> list[dict[str, Any]]:
    """The scores of entries that are not picked and of picked ones, of each generator."""
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
        images = entry.generate(train, POOLS[-1], np.random.default_rng(SEED))
        features = {name: track.features(images) for name, track in tracks.items()}
        starts = range(0, POOLS[-1], COUNT)
        scores = {
            name: [tracks[name].scores(drawn[start : start + COUNT]) for start in starts]
            for name, drawn in features.items()
        }
        rows.append({"generator": entry.key, "pool": None, "scores": scores})
        for size in POOLS:
            with threadpool_limits(limits=1):  # the matrices are small
                kept = picked(features["public"][:size], tracks["public"].reference, np.random.default_rng(SEED))
            scores = {name: [tracks[name].scores(drawn[kept])] for name, drawn in features.items()}
            rows.append({"generator": entry.key, "pool": size, "scores": scores})
    return rows


def page_of(stored: Mapping[str, Any]) -> str:
    """The page, as Markdown, of what :func:`main` has stored."""
    header = ("generator", "images", "public FID", "public MiFID", "private FID", "private MiFID")
    lines = [
        (
            f"`{row['generator']}`",
            "not picked" if row["pool"] is None else f"{COUNT} of {row['pool']:,}",
            *(cell for name in ("public", "private") for cell in _cells(row["scores"][name])),
        )
        for row in stored["rows"]
    ]
    table = markdown_of(MarkdownTable("", header, lines))
    return (
        "\n".join(["# How far picking images goes", "", INTRODUCTION, "", *table, "", machine_line(stored["machine"])])
        + "\n"
    )


def _cells(scores: Any) -> list[str]:
    values = np.array(scores)
    errors = [f" ± {error:.1f}" for error in values.std(axis=0, ddof=1)] if len(values) > 1 else ["", ""]
    return [f"{mean:.1f}{error}" for mean, error in zip(values.mean(axis=0), errors, strict=True)]


def main() -> None:
    """Measure, and write numbers and page."""
    measured_with = machine()  # before anything is written: a commit with changes is told as such
    stored = {"machine": measured_with, "rows": measure()}
    (HERE / "results" / "picked_images.json").write_text(json.dumps(stored, indent=1) + "\n")
    (HERE / "PICKED.md").write_text(page_of(stored))
    print(page_of(stored))


if __name__ == "__main__":
    main()
