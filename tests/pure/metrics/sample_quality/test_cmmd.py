"""CMMD compared with its published formula and with the spread over samples."""

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality import kernel_sums
from scorer.metrics.sample_quality.cmmd import cmmd

Matrix = NDArray[np.float64]


def unit_rows(seed: int, count: int, shift: float = 0.0) -> Matrix:
    rows = np.random.default_rng(seed).standard_normal((count, 24)) + shift
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def by_definition(generated: Matrix, reference: Matrix) -> float:
    """CMMD from whole matrices of differences, with sigma = 10 and the scale 1000 of
    google-research/cmmd/distance.py."""

    def mean(one: Matrix, other: Matrix) -> float:
        squares = ((one[:, None] - other[None]) ** 2).sum(axis=2)
        return float(np.exp(-squares / 200.0).mean())

    within = mean(generated, generated) + mean(reference, reference)
    return 1000.0 * (within - 2.0 * mean(generated, reference))


@pytest.mark.parametrize("block", [7, 1024])
def test_the_value_matches_the_published_estimator(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sums, "_BLOCK", block)
    generated, reference = unit_rows(1, 30, 0.3), unit_rows(2, 45)
    shares: list[float] = []
    result = cmmd(generated, reference, progress=shares.append)
    assert result.value == pytest.approx(by_definition(generated, reference), rel=1e-9)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert cmmd(reference, reference).value == pytest.approx(0.0, abs=1e-10)


def test_two_opposite_groups_have_a_closed_form() -> None:
    """Rows within a group are equal. The kernel is 1 within and exp(-4 / 200) across the groups."""
    own, other = np.array([[1.0, 0.0]] * 2), np.array([[-1.0, 0.0]] * 3)
    assert cmmd(own, other).value == pytest.approx(2000.0 * (1.0 - np.exp(-0.02)), rel=1e-12)


def test_the_error_matches_the_spread_over_generated_images() -> None:
    reference = unit_rows(0, 200)
    results = [cmmd(unit_rows(seed, 60, 0.5), reference) for seed in range(1, 121)]
    spread = np.std([result.value for result in results], ddof=1)
    assert np.mean([result.standard_error for result in results]) == pytest.approx(spread, rel=0.2)


def test_too_few_images_are_refused() -> None:
    with pytest.raises(Invalid) as error:
        cmmd(unit_rows(1, 3), unit_rows(2, 1).astype(np.float32))
    assert error.value.slug == "too-few-images"
