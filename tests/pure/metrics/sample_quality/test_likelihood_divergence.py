"""FLD compared with an independent fit with torch's optimiser, and its behaviour on copies."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.sample_quality import likelihood_divergence as likelihood
from scorer.metrics.sample_quality.likelihood_divergence import (
    LikelihoodDivergence,
    likelihood_divergence,
    likelihood_reference,
)

Matrix = NDArray[np.float64]


def rows(seed: int, count: int) -> Matrix:
    """Rows of two clusters in six dimensions."""
    random = np.random.default_rng(seed)
    return np.asarray(random.standard_normal((count, 6)) + 4.0 * random.integers(0, 2, (count, 1)))


def nll_by_torch(centres: Matrix, fitted_to: Matrix, of: Matrix) -> float:
    """-mean log p / d after 50 steps of torch's Adam on the mixture's likelihood, with automatic differentiation."""
    g, x, y = (torch.from_numpy(features) for features in (centres, fitted_to, of))
    d = g.shape[1]

    def log_density(squares: torch.Tensor, logarithms: torch.Tensor) -> torch.Tensor:
        density: torch.Tensor = -squares / (2 * logarithms.exp()) - d / 2 * (logarithms + float(np.log(2 * np.pi)))
        return density

    squares = torch.cdist(x, g, compute_mode="donot_use_mm_for_euclid_dist") ** 2
    logarithms = ((squares.min(dim=0).values + 1e-3) / d).log().requires_grad_()
    at_mean = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    to_mean = 0.81 * ((x - x.mean(dim=0)) ** 2).sum(dim=1, keepdim=True)
    optimiser = torch.optim.Adam([logarithms, at_mean], lr=0.5)
    for _ in range(50):
        optimiser.zero_grad()
        own = log_density(squares, logarithms) - np.log(len(g))
        loss = -torch.cat([own, log_density(to_mean, at_mean)], dim=1).logsumexp(dim=1).mean() / d
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        with torch.no_grad():
            logarithms.clamp_(-40, 20)
    squares = torch.cdist(y, g, compute_mode="donot_use_mm_for_euclid_dist") ** 2
    with torch.no_grad():
        return float(-(log_density(squares, logarithms).logsumexp(dim=1) - np.log(len(g))).mean() / d)


def measured(generated: Matrix, training: Matrix, held_out: Matrix) -> LikelihoodDivergence:
    return likelihood_divergence(generated, training, held_out, random=np.random.default_rng(0))


@pytest.mark.parametrize("count", [40, 90])
def test_the_fit_matches_the_published_one(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The baseline has as many centres as the entry if there are enough training images."""
    monkeypatch.setattr(likelihood, "_BLOCK", 7)
    generated, training, held_out = rows(1, 40), rows(2, count), rows(3, 40)
    mean, deviation = held_out.mean(axis=0), held_out.std(axis=0, ddof=1)
    order = np.random.default_rng(0)
    order.permutation(40)  # the order of the held-out images, which are all used
    mixed = (training[order.permutation(count)[:80]] - mean) / deviation
    own, scaled_held_out = ((features - mean) / deviation for features in (generated, held_out))
    real, half = mixed[:40], len(mixed) // 2
    baseline = nll_by_torch(mixed[:half], mixed[half:], scaled_held_out)
    of_held_out, of_training = nll_by_torch(own, real, scaled_held_out), nll_by_torch(own, real, real)
    result = measured(generated, training, held_out)
    assert result.fld == pytest.approx(100 * (of_held_out - baseline), rel=1e-6)
    assert result.gap == pytest.approx(100 * (of_training - of_held_out), rel=1e-6)
    assert result.images == 40


def test_copies_have_a_gap_far_below_zero() -> None:
    training, held_out = rows(2, 200), rows(3, 200)
    honest, copies = measured(rows(1, 200), training, held_out), measured(training, training, held_out)
    assert -10 < honest.gap < 0, "the widths are fitted to the training images"
    assert copies.gap < -100
    assert copies.fld > honest.fld + 5 * honest.fld_error
    far = measured(rows(1, 200) + 3.0, training, held_out)
    assert far.fld > honest.fld + 5 * honest.fld_error, "distant generated images make held-out images unlikely"


def test_the_error_matches_the_spread_over_generated_images() -> None:
    training, held_out = rows(2, 120), rows(3, 120)
    results = [measured(rows(seed, 120), training, held_out) for seed in range(10, 70)]
    for name in ("fld", "gap"):
        spread = np.std([getattr(result, name) for result in results], ddof=1)
        assert np.mean([getattr(result, f"{name}_error") for result in results]) == pytest.approx(spread, rel=0.35)


def test_a_stored_baseline_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = rows(1, 60), rows(2, 150), rows(3, 60)
    expected = measured(*sets)
    stored = likelihood_reference(*sets[1:], 60).baseline()
    fitted = Mock(wraps=likelihood._fitted_widths)
    monkeypatch.setattr(likelihood, "_fitted_widths", fitted)
    random = np.random.default_rng(0)
    assert likelihood_divergence(*sets, random=random, baseline=lambda _reference: stored) == expected
    assert fitted.call_count == 1


def test_equal_numbers_are_drawn_and_constant_features_are_allowed() -> None:
    sets = [np.column_stack([rows(seed, count), np.full(count, 0.1)]) for seed, count in ((1, 60), (2, 90), (3, 50))]
    shares: list[float] = []
    result = likelihood_divergence(*sets, random=np.random.default_rng(0), max_images=30, progress=shares.append)
    assert result.images == 30
    assert np.isfinite(result.fld)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_too_few_images_are_refused() -> None:
    with pytest.raises(Invalid) as error:
        measured(rows(1, 9), rows(2, 9), rows(3, 3))
    assert error.value.slug == "too-few-images"
