"""Equal images give equal scores in any order, process and run, and nearly equal scores in any batch size."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from skimage.data import astronaut, cat, coffee
from threadpoolctl import threadpool_limits

from scorer.archive import write_images
from scorer.db import competitions
from scorer.db.submissions import submissions
from scorer.db.tables import Measurement
from scorer.extractors import ExtractorOptions, load
from scorer.lifecycle import Queue
from scorer.metrics.cosine import normalise
from scorer.metrics.sample_quality.frechet import statistics_of
from tests.api.conftest import Service
from tests.conftest import addresses
from worker.dispatch import run_next
from worker.scoring.measure import PreparedReference, RawMeasurement, measure
from worker.scoring.rescore import rescore
from worker.scoring.verify import SCORE_TOLERANCE, ComparisonOutcome

COUNT, SIZE = 24, 32
PHOTOGRAPHS: tuple[Callable[[], NDArray[np.uint8]], ...] = (astronaut, cat, coffee)
CPU = ExtractorOptions(device="cpu", batch_size=8, threads=1)


def crops(seed: int, count: int) -> NDArray[np.uint8]:
    """Images (count, SIZE, SIZE, 3) cut from photographs, for real edges and no duplicates."""
    rng = np.random.default_rng(seed)
    photographs = [photograph() for photograph in PHOTOGRAPHS]
    tiles = []
    for index in range(count):
        photograph = photographs[index % 3]
        top, left = (int(rng.integers(0, side - SIZE)) for side in photograph.shape[:2])
        tiles.append(photograph[top : top + SIZE, left : left + SIZE])
    return np.stack(tiles)


def zipped_in(order: NDArray[np.int64]) -> bytes:
    """A zip of the same images and names, with its members in another order."""
    names = np.array([f"{index:05}.png" for index in range(COUNT)])
    write_images(crops(1, COUNT)[order], buffer := io.BytesIO(), names[order].tolist())
    return buffer.getvalue()


def score_elsewhere(service: Service) -> None:
    """Compute the next score in a separate worker process."""
    settings = service.context.settings
    environment = os.environ | {
        **addresses(settings),
        "OMP_WAIT_POLICY": "PASSIVE",  # as `kennel up` sets it, because other processes also need the cores
    }
    code = (
        "from worker.tasks import worker_context\n"
        "from worker.dispatch import run_next\n"
        "from scorer.lifecycle import Queue\n"
        "assert run_next(worker_context(), Queue.SCORE)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)


def public_measurement(service: Service, submission_id: str) -> Measurement:
    with service.context.sessions() as session:
        submission = submissions.submission_by_id(session, submission_id)
        assert submission is not None
        track = competitions.load_tracks(session, submission.competition_id)["public"]
        measurement = submissions.newest_measurement(session, submission.ref, track.id)
    assert measurement is not None
    return measurement


def test_order_process_and_time_change_no_bit_of_a_score(service: Service) -> None:
    slug = service.competition(image_count=COUNT, image_size=SIZE, public={"extractor": "efficientnet_lite0"})
    orders = (np.arange(COUNT), np.random.default_rng(0).permutation(COUNT))
    zips = [zipped_in(order) for order in orders]
    assert zips[0] != zips[1]
    ids = [service.submit(who, slug, content).json()["id"] for who, content in zip(("ada", "bob"), zips, strict=True)]
    for _ in ids:
        assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.SCORE)
    score_elsewhere(service)
    first, second = (public_measurement(service, id_) for id_ in ids)
    assert first.provenance["extractor"] == "efficientnet_lite0@1"
    assert first.provenance["worker"] != second.provenance["worker"]
    assert (first.fid, first.memorization_distance) == (second.fid, second.memorization_distance)
    assert first.closest_pairs == second.closest_pairs
    again = rescore(service.context, ids[1], verify=True, progress=lambda _stage, _share: None)
    assert [run.comparison and run.comparison.outcome for run in again] == [ComparisonOutcome.IDENTICAL]


@pytest.fixture(scope="module")
def reference() -> PreparedReference:
    """A prepared reference."""
    features = load("efficientnet_lite0", options=CPU).features(crops(2, 32))
    return PreparedReference(statistics_of(features), normalise(features), signed=False)


def numbers(options: ExtractorOptions, reference: PreparedReference) -> RawMeasurement:
    before = torch.get_num_threads()
    try:
        with threadpool_limits(limits=options.threads, user_api="blas"):
            return measure(
                crops(1, COUNT),
                load("efficientnet_lite0", options=options),
                reference,
                progress=lambda _stage, _share: None,
            )
    finally:
        torch.set_num_threads(before)


@pytest.fixture(scope="module")
def one_at_a_time(reference: PreparedReference) -> RawMeasurement:
    return numbers(replace(CPU, batch_size=1), reference)


@pytest.mark.parametrize("how", [{"batch_size": 64}, {"batch_size": 64, "threads": 2}])
def test_batches_and_threads_change_a_score_within_the_tolerance(
    how: dict[str, int], reference: PreparedReference, one_at_a_time: RawMeasurement
) -> None:
    result = numbers(replace(CPU, **how), reference)  # type: ignore[arg-type]
    assert result.fid == pytest.approx(one_at_a_time.fid, rel=SCORE_TOLERANCE, abs=0)
    assert result.nearest.mean == pytest.approx(one_at_a_time.nearest.mean, rel=SCORE_TOLERANCE, abs=0)
    assert result.fid > 1
    assert result.nearest.mean > 0.01
