"""Success by number of starts, stability, and histograms of recovery errors, by hand."""

import numpy as np
import pytest

from scorer.findings.recovery_power import stability_findings, start_findings
from scorer.metrics.copying.latent_recovery import MIN_ERROR, error_histogram
from scorer.metrics.copying.recovery_power import SearchStability, success_by_start


def test_success_by_start_counts_the_best_so_far() -> None:
    errors = np.array([[0.2, 0.05, 0.01, 0.3], [0.05, 0.02, 0.01, 0.3]])
    assert success_by_start(errors) == {"verbatim": [0.25, 0.5], "plausible": [0.5, 0.75]}
    (finding,) = start_findings({"generated": errors})
    assert "50 % are found plausibly from one start and 75 % from 2" in finding.sentence
    assert finding.standard_error == 0.25
    assert list(start_findings({"generated": errors[:1]})) == []


def test_stability_is_told_over_all_searches() -> None:
    """Two starts, two iterations, two images: one is found from both starts, one from the first alone."""
    errors = np.array([[[0.5, 0.9], [0.1, 0.2], [0.001, 0.002]], [[0.7, 0.3], [0.01, 0.3], [0.001, 0.3]]])
    stability = SearchStability(errors)
    assert stability.found.tolist() == [1.0, 0.5]
    assert stability.quartiles[1].tolist() == pytest.approx([0.6, 0.15, 0.0015])
    assert (stability.quartiles[0] <= stability.quartiles[2]).all()
    assert stability.iterations_needed == 2
    told = stability.as_json()
    assert (told["starts"], told["targets"], told["found"]) == (2, 2, [0.5, 1.0])
    (finding,) = stability_findings(stability)
    assert (finding.value, "half of them after 2 iterations" in finding.sentence) == (0.75, True)
    assert finding.standard_error == pytest.approx(0.25), "over the images"
    lost = SearchStability(errors + 1.0)
    assert lost.iterations_needed is None
    assert "half of them never did" in next(stability_findings(lost)).sentence


def test_a_histogram_counts_every_error_once() -> None:
    random = np.random.default_rng(0)
    errors = {"train": [0.0, MIN_ERROR, 1e-9, 4.0], "held_out": random.lognormal(-5, 2, 500).tolist()}
    histogram = error_histogram(errors)
    assert {kind: sum(counts) for kind, counts in histogram.counts.items()} == {"train": 4, "held_out": 500}
    assert histogram.counts["train"][0] == 3
    assert histogram.edges[0] == MIN_ERROR
    assert histogram.edges[-1] > 4.0 >= histogram.edges[-2]
    assert np.allclose(np.diff(np.log10(histogram.edges)), 1 / 6)
    exactly_an_edge = error_histogram({"train": [histogram.edges[-2]]})
    assert sum(exactly_an_edge.counts["train"]) == 1
