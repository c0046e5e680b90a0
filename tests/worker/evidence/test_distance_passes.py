"""Shared passes of the evidence tests: results equal those of separate passes, and all pairs are multiplied once."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.archive import find_training_image_copies
from scorer.extractors import Features
from scorer.metrics.cosine import CosineComparison
from scorer.metrics.euclidean import neighbours
from scorer.metrics.memorization import nearest
from scorer.metrics.pairing import Pairing
from scorer.metrics.sample_quality.frechet import statistics_of
from scorer.metrics.sample_quality.kid import squared_mmd
from scorer.metrics.sample_quality.prdc import prdc_with_error
from scorer.metrics.sample_quality.two_sample import two_sample
from tests.pure.own_passes import internal_duplicates
from worker.evidence.analysis import AnalysedEntry, Analysis
from worker.evidence.methods import TEST_METHODS
from worker.evidence.reference import (
    NotComputable,
    ReferenceAnalysis,
    analyse_reference,
    few_images_not_computable,
    or_none,
)
from worker.evidence.thumbnails import ReferenceThumbnails

DIMENSION = 80
"""More dimensions than data-copying's projection keeps."""


def features(seed: int, count: int) -> Features:
    return np.abs(np.random.default_rng(seed).standard_normal((count, DIMENSION))).astype(np.float32)


def with_copies(own: Features, training: Features) -> Features:
    """Make a third of them copies, some of the same training image, and let some repeat others."""
    third = len(own) // 3
    own[:third] = training[np.arange(third) % 40]
    own[third : third + 10] = own[-10:]
    return own


TRAINING, HELD_OUT = features(1, 400), features(2, 90)


def thumbnails(count: int) -> NDArray[np.float32]:
    return np.random.default_rng(count).standard_normal((count, 192)).astype(np.float32)


def reference(held_out: Features | None = HELD_OUT) -> ReferenceAnalysis:
    made = ReferenceThumbnails(thumbnails(400), thumbnails(400), np.ones((400, 8), np.uint32))
    return analyse_reference(
        TRAINING, TRAINING[:, ::-1].copy(), held_out, thumbnails=made, signed=False, progress=lambda _share: None
    )


def analysis(own: Features, against: ReferenceAnalysis) -> Analysis:
    hashes = np.random.default_rng(0).integers(0, 256, (len(own), 16), np.uint8)
    entry = AnalysedEntry(
        names=[str(row) for row in range(len(own))],
        extractor="tiny",
        features=own,
        thumbnails=thumbnails(len(own)),
        perceptual_hashes=np.ones((len(own), 8), np.uint32),
        hashes=hashes,
        mirrored_hashes=hashes + 1,
        copies=find_training_image_copies(hashes, hashes[:0], hashes[:0]),
        logits=None,
        fid=1.0,
        distance=0.1,
        distance_se=None,
    )
    return Analysis(entry, against, statistics_of(TRAINING), seed=5)


@pytest.mark.parametrize("count", [120, 600])
def test_every_test_finds_the_same_as_alone(count: int) -> None:
    """With fewer images than training images, and with more."""
    own = with_copies(features(3, count), TRAINING)
    shared = analysis(own, reference())
    assert shared.overlap == prdc_with_error(own, TRAINING)
    assert shared.two_sample == two_sample(own, TRAINING, random=np.random.default_rng([5, 1]))
    kid = squared_mmd(own, TRAINING)
    assert (shared.kid.value, shared.kid.standard_error) == pytest.approx((kid.value, kid.standard_error), rel=1e-6)
    alone = nearest(own, TRAINING)
    np.testing.assert_array_equal(shared.upright.distance, alone.distance)
    np.testing.assert_array_equal(shared.upright.index, alone.index)
    around = neighbours(own, TRAINING, k=50)
    np.testing.assert_array_equal(shared.to_training.nearest.squares, around.squares)
    np.testing.assert_array_equal(shared.to_training.nearest.index, around.index)
    np.testing.assert_array_equal(shared.to_training.squares, neighbours(TRAINING, own).squares[:, 0])
    repeats = internal_duplicates(own, shared.closeness, len(TRAINING))
    np.testing.assert_array_equal(shared.repeats.group, repeats.group)
    assert (shared.repeats.pairs, shared.repeats.p_value) == (repeats.pairs, repeats.p_value)


def test_all_pairs_are_multiplied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs within the entry, and pairs of the entry's images and training images."""
    times: Counter[Any] = Counter()

    def counted(kind: type, name: str, sizes: Any) -> None:
        original = getattr(kind, name)

        def counting(self: Any, *arguments: Any) -> Any:
            times[sizes(self)] += 1
            return original(self, *arguments)

        monkeypatch.setattr(kind, name, counting)

    own, against = features(4, 120), reference()
    counted(Pairing, "products", lambda pairing: (len(pairing.own), len(pairing.other), pairing.own.shape[1]))
    counted(
        CosineComparison, "shortlist", lambda comparison: (id(comparison.reference.features), len(comparison.generated))
    )
    shared = analysis(own, against)
    for method in TEST_METHODS:
        or_none(lambda: method.run(shared))  # noqa: B023 - called immediately
    assert times[120, 120, DIMENSION] == 1 + 1  # once for the two-sample test's training images
    assert times[120, 400, DIMENSION] == 1
    assert times[id(against.training.features), 120] == 0
    assert times[id(against.mirrored.features), 120] == 1


@pytest.mark.parametrize("count", [1, 2, 3])
def test_with_few_images_other_tests_still_work(count: int) -> None:
    own = features(6, count)
    shared = analysis(own, reference())
    assert shared.upright.distance.shape == (count,)
    assert shared.repeats.pairs == 0
    reasons = [_reason(shared, name) for name in ("overlap", "two_sample", "kid")]
    assert reasons[0] == f"The given features have {count} rows; at least 4 are needed."
    assert (reasons[1] is None, reasons[2] is None) == (count >= 2, count >= 2)


def test_without_held_out_images_other_tests_still_work() -> None:
    shared = analysis(features(7, 60), reference(held_out=None))
    assert shared.overlap == prdc_with_error(features(7, 60), TRAINING)
    assert _reason(shared, "repeats") == "There are no held-out images to compare with."


def _reason(shared: Analysis, name: str) -> str | None:
    try:
        with few_images_not_computable():
            getattr(shared, name)
    except NotComputable as error:
        return str(error)
    return None
