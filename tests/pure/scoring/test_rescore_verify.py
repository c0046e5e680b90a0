"""Comparison of two measurements of one submission: equal, nearly equal, or different."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import ArrayLike

from scorer.metrics.memorization import Nearest
from worker.scoring.verify import (
    IMAGE_TOLERANCE,
    ComparisonOutcome,
    MeasuredScores,
    compare_scores,
    provenance_differences,
)


def result(
    distance: ArrayLike = (0.25, 0.5, 0.125), index: ArrayLike = (4, 0, 7), *, fid: float = 90.0, s: float = 0.3
) -> MeasuredScores:
    return MeasuredScores(fid, s, Nearest(np.array(distance, np.float64), np.array(index, np.int64)))


def test_equal_bits_are_identical() -> None:
    comparison = compare_scores(result(), result())
    assert (comparison.outcome, comparison.relative, comparison.images, comparison.equal) == (
        ComparisonOutcome.IDENTICAL,
        0.0,
        0,
        True,
    )
    assert str(comparison) == "equal, bit for bit"


@pytest.mark.parametrize("moved", [{"fid": math.nextafter(90, 91)}, {"s": math.nextafter(0.3, 1)}])
def test_a_difference_in_the_last_bit_is_close_and_reported(moved: dict[str, float]) -> None:
    comparison = compare_scores(result(), result(**moved))
    assert comparison.outcome is ComparisonOutcome.CLOSE
    assert comparison.equal
    assert 0 < comparison.relative < 1e-15
    assert str(comparison) == f"equal within {comparison.relative:.1e} relative"


def test_a_difference_in_the_last_bit_of_one_image_is_reported() -> None:
    comparison = compare_scores(result(), result((0.25, math.nextafter(0.5, 1), 0.125)))
    assert (comparison.outcome, comparison.images) == (ComparisonOutcome.CLOSE, 1)


@pytest.mark.parametrize("factor", [1 + 2e-6, 1 - 2e-6, 2.0, math.nan])
@pytest.mark.parametrize("name", ["fid", "memorization_distance"])
def test_a_difference_above_the_tolerance_is_not_equal(name: str, factor: float) -> None:
    changed = replace(result(), **{name: getattr(result(), name) * factor})
    for comparison in (compare_scores(result(), changed), compare_scores(changed, result())):
        assert comparison.outcome is ComparisonOutcome.DIFFERENT
        assert not comparison.equal
        assert str(comparison) == "not equal"


@pytest.mark.parametrize("name", ["fid", "memorization_distance"])
def test_a_difference_below_the_tolerance_is_close(name: str) -> None:
    changed = replace(result(), **{name: getattr(result(), name) * (1 + 9e-7)})
    assert compare_scores(result(), changed).outcome is ComparisonOutcome.CLOSE


def test_rounding_near_zero_is_not_a_difference() -> None:
    copies = result((0.0, 0.0, 0.0), fid=3e-11, s=0.0)
    assert (
        compare_scores(copies, replace(copies, fid=0.0, memorization_distance=2e-16)).outcome is ComparisonOutcome.CLOSE
    )
    assert compare_scores(copies, replace(copies, fid=2e-6)).outcome is ComparisonOutcome.DIFFERENT
    assert compare_scores(copies, replace(copies, memorization_distance=2e-9)).outcome is ComparisonOutcome.DIFFERENT


@pytest.mark.parametrize("by", [2 * IMAGE_TOLERANCE, math.nan])
def test_a_change_of_one_image_is_found_even_if_the_means_are_equal(by: float) -> None:
    comparison = compare_scores(result(), result((0.25, 0.5 + by, 0.125)))
    assert (comparison.outcome, comparison.images) == (ComparisonOutcome.DIFFERENT, 1)


def test_another_nearest_image_at_the_same_distance_is_a_difference() -> None:
    assert compare_scores(result(), result(index=(4, 1, 7))).outcome is ComparisonOutcome.DIFFERENT


def test_another_nearest_image_is_close_if_the_last_bits_differ() -> None:
    comparison = compare_scores(result(), result((0.25, math.nextafter(0.5, 0), 0.125), (4, 1, 7)))
    assert (comparison.outcome, comparison.images) == (ComparisonOutcome.CLOSE, 1)


def test_another_number_of_images_is_not_equal() -> None:
    comparison = compare_scores(result(), result((0.25, 0.5), (4, 0)))
    assert (comparison.outcome, comparison.images) == (ComparisonOutcome.DIFFERENT, 3)
    assert compare_scores(result(), result(index=(4, 0))).outcome is ComparisonOutcome.DIFFERENT


def test_differences_of_provenance_are_reported() -> None:
    then = {"torch": "2.14.0", "device_name": "A", "batch_size": 8, "worker": "elsewhere", "timm": "1"}
    now = {"torch": "2.14.1", "device_name": "B", "batch_size": 8, "pillow": "13.0.0", "timm": None}
    assert provenance_differences(then, now) == (
        "processor: A then, B now",
        "pillow: not recorded then, 13.0.0 now",
        "timm: 1 then, not recorded now",
        "torch: 2.14.0 then, 2.14.1 now",
    )
    assert provenance_differences(then, then) == ()
