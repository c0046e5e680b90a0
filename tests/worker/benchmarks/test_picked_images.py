"""Picked images lower the Fréchet distance, and the pages that quote the result say what was measured."""

import numpy as np

from benchmarks.harness.results import read_results
from benchmarks.papers.picked_images import FULL, GENERATORS, Size, picked
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of


def test_picked_images_are_nearer() -> None:
    random = np.random.default_rng(1)
    reference = random.standard_normal((500, 8), np.float32)
    pool = np.float32(1.3) * random.standard_normal((160, 8), np.float32) + np.float32(0.2)
    rows = picked(pool, reference, Size(40, (160,), 300), random=random)
    assert len(set(rows.tolist())) == 40
    chosen, first = (
        frechet_distance(statistics_of(each), statistics_of(reference)) for each in (pool[rows], pool[:40])
    )
    assert chosen < 0.8 * first


def test_the_pages_say_what_was_measured() -> None:
    (stored,) = read_results("picked_images")
    fids = {
        (row["generator"], row["pool"], track): np.array(scores)[:, 0]
        for row in stored.measured
        for track, scores in row["scores"].items()
    }
    lowered = []
    for generator in GENERATORS:
        for track in ("public", "private"):
            honest, best = fids[generator, None, track], fids[generator, FULL.pools[-1], track][0]
            lowered.append(round(100 * (1 - best / honest.mean())))
    assert (min(lowered), max(lowered)) == (4, 11), "docs/explanation/metrics.md and the page of uncertainties"
