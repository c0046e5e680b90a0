"""Picked images lower the Fréchet distance, and the page and the pages that quote it say what was measured."""

import json

import numpy as np
import pytest

from benchmarks.papers import picked_images
from benchmarks.papers.picked_images import GENERATORS, HERE, POOLS, page_of, picked
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of


def test_picked_images_are_nearer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picked_images, "COUNT", 40)
    monkeypatch.setattr(picked_images, "SWAPS", 300)
    random = np.random.default_rng(1)
    reference = random.standard_normal((500, 8), np.float32)
    pool = np.float32(1.3) * random.standard_normal((160, 8), np.float32) + np.float32(0.2)
    rows = picked(pool, reference, random)
    assert len(set(rows.tolist())) == 40
    chosen, first = (
        frechet_distance(statistics_of(each), statistics_of(reference)) for each in (pool[rows], pool[:40])
    )
    assert chosen < 0.8 * first


def test_the_pages_say_what_was_measured() -> None:
    stored = json.loads((HERE / "results" / "picked_images.json").read_text())
    assert (HERE / "PICKED.md").read_text() == page_of(stored)
    fids = {
        (row["generator"], row["pool"], track): np.array(scores)[:, 0]
        for row in stored["rows"]
        for track, scores in row["scores"].items()
    }
    lowered = []
    for generator in GENERATORS:
        for track in ("public", "private"):
            honest, best = fids[generator, None, track], fids[generator, POOLS[-1], track][0]
            lowered.append(round(100 * (1 - best / honest.mean())))
    assert (min(lowered), max(lowered)) == (4, 11), "docs/explanation/metrics.md and the page of uncertainties"
