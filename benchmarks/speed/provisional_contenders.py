"""The timed measurement of the demo's entries in one precision."""

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
    """Write the entries' images and the reference in float32, and return ``tau`` as a track starts with it.

    That is half of the memorization distance of the held-out images.
    """
    destination = Path(folder)
    spec = spec_of(network)
    destination.mkdir(parents=True, exist_ok=True)
    write_weights(spec, destination)
    photographs = bundled_photographs(SEED)
    for number, entry in enumerate(ENTRIES):
        images = entry.generate(photographs.train.images, count, np.random.default_rng([SEED, number]))
        np.save(destination / f"{entry.key}.npy", images)
    extractor = extractor_of(spec, destination)
    features = extractor.features(photographs.train.images)
    np.save(destination / "reference.npy", features)
    return {"tau": memorization_distance(extractor.features(photographs.held_out.images), features) / 2}


def measured(folder: str, network: str, precision: Precision) -> Run:
    """``fid:KEY`` and ``distance:KEY`` of every entry, and the ``seconds`` that all of them took together."""
    inputs = Path(folder)
    spec = spec_of(network)
    extractor = extractor_of(spec, inputs, precision)
    rows = np.load(inputs / "reference.npy")
    reference = PreparedReference(statistics_of(rows), normalise(rows), signed=False)
    numbers: Run = {}
    start = time.perf_counter()
    for entry in ENTRIES:
        measurement = measure(np.load(inputs / f"{entry.key}.npy", mmap_mode="r"), extractor, reference, _no_progress)
        numbers |= {f"fid:{entry.key}": measurement.fid, f"distance:{entry.key}": measurement.nearest.mean}
    return numbers | {"seconds": time.perf_counter() - start}


def _no_progress(_stage: str, _fraction: float) -> None:
    pass
