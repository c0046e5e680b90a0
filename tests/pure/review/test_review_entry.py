"""Texts and charts of the review queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.rendering.charts.histogram import STRIP_HEIGHT, build_histogram, build_strip_plot
from deploy.demo.entries import ENTRIES
from deploy.demo.report import escaped_memoriser, rank_moves
from scorer.review.review_entry import held_out_sentence, near_share, share_below

COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=60).filter(any)


def test_the_share_of_near_images_in_a_small_histogram() -> None:
    histogram = {"counts": [10, 30, 60], "low": 0.0, "high": 0.3}
    for limit, share in ((0.0, 0.0), (0.1, 0.1), (0.15, 0.25), (0.2, 0.4), (0.3, 1.0), (5.0, 1.0), (-1.0, 0.0)):
        assert share_below(histogram, limit) == pytest.approx(share)
    assert near_share(histogram, 0.15) == "25.0% of its images are less than 0.1500 (tau / 2) from a training image."


@given(COUNTS, st.floats(-0.1, 1.1), st.floats(-0.1, 1.1))
def test_the_share_grows_with_the_limit(counts: list[int], one: float, other: float) -> None:
    histogram = {"counts": counts, "low": 0.0, "high": 1.0}
    low, high = sorted((one, other))
    assert 0 <= share_below(histogram, low) <= share_below(histogram, high) + 1e-12 <= 1 + 2e-12


def test_a_distance_is_compared_with_that_of_held_out_images() -> None:
    assert held_out_sentence(0.15, 0.01, 0.25) == (
        "its images are closer to the reference images than held-out images are, by 10.0 standard errors."
    )
    assert "no closer" in held_out_sentence(0.3, None, 0.25)
    assert "standard" not in held_out_sentence(0.3, None, 0.25)
    assert "more than 100 standard errors" in held_out_sentence(0.1, 1e-9, 0.25)


def test_labelled_entries_share_the_axis_of_the_histogram() -> None:
    drawing = build_histogram({"counts": [1, 2], "low": 0.0, "high": 0.2}, 0.1, 0.15, reach=0.4)
    assert drawing is not None
    assert drawing.right == pytest.approx(0.4 * 1.04)
    lanes = build_strip_plot([("ae", 0.1), ("legitimate", 0.4), ("ae", 0.1), ("ae", 0.3)], drawing.right)
    assert lanes is not None
    assert [(lane.label, lane.count, lane.top) for lane in lanes.strips] == [
        ("legitimate", 1, 0),
        ("ae", 3, STRIP_HEIGHT),
    ]
    (near, strong), (far, faint) = lanes.strips[1].marks
    assert near < far < 100
    assert strong == 1.0
    assert faint == pytest.approx(0.7)
    assert "ae: 3, from 0.1000 to 0.3000" in lanes.description
    assert build_strip_plot([], 1.0) is None


def test_the_demo_finds_the_memoriser_that_no_threshold_penalises() -> None:
    entries = {entry.key: entry for entry in ENTRIES}
    lines = [
        {"submission_id": "kernel-wide", "penalised": False, "team": "A", "rank": 1},
        {"submission_id": "autoencoder", "penalised": False, "team": "B", "rank": 2},
        {"submission_id": "one-hot", "penalised": True, "team": "C", "rank": 3},
    ]
    assert escaped_memoriser(entries, {"entries": lines}) == "autoencoder"
    assert escaped_memoriser(entries, {"entries": [{**line, "penalised": True} for line in lines]}) is None
    after = [lines[0], {**lines[2], "rank": 2}]
    assert rank_moves(lines, after) == ["B 2 -> -", "C 3 -> 2"]
