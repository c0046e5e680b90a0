"""The demo's entries measured in one precision."""

import time
from pathlib import Path

import numpy as np

from benchmarks.harness.isolation import Run
from benchmarks.harness.networks import extractor_of, spec_of, write_weights
from deploy.demo.entries import ENTRIES
from deploy.demo.photographs import bundled_photographs
from deploy.demo.run import SEED
from scorer.extractors import Precision
from scorer.metrics.cosine import normalise
from scorer.metrics.memorization import memorization_distance
from scorer.metrics.sample_quality.frechet import statistics_of
from worker.scoring.measure import PreparedReference, measure


def prepare(folder: str, network: str, count: int) -> Run:
    """Store the entries' images, the reference in float32, and ``tau`` as a track starts with it: half the
    memorization distance of the held-out photographs."""
    where, spec = Path(folder), spec_of(network)
    where.mkdir(parents=True, exist_ok=True)
    write_weights(spec, where)
    pictures = bundled_photographs(SEED)
    for number, entry in enumerate(ENTRIES):
        made = entry.generate(pictures.train.images, count, np.random.default_rng([SEED, number]))
        np.save(where / f"{entry.key}.npy", made)
    extractor = extractor_of(spec, where)
    features = extractor.features(pictures.train.images)
    np.save(where / "reference.npy", features)
    return {"tau": memorization_distance(extractor.features(pictures.held_out.images), features) / 2}


def measured(folder: str, network: str, precision: Precision) -> Run:
    """``fid:KEY`` and ``distance:KEY`` of every entry, and the ``seconds`` that all of them took together."""
    where, spec = Path(folder), spec_of(network)
    extractor = extractor_of(spec, where, precision)
    rows = np.load(where / "reference.npy")
    reference = PreparedReference(statistics_of(rows), normalise(rows), signed=False)
    found: Run = {}
    start = time.perf_counter()
    for entry in ENTRIES:
        numbers = measure(np.load(where / f"{entry.key}.npy", mmap_mode="r"), extractor, reference, _no_progress)
        found |= {f"fid:{entry.key}": numbers.fid, f"distance:{entry.key}": numbers.nearest.mean}
    return found | {"seconds": time.perf_counter() - start}


def _no_progress(_stage: str, _fraction: float) -> None:
    pass
