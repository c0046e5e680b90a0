"""Whether a generator made an entry: exact tests compared with scipy, and the verdicts with their sentences."""

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact

from scorer.findings.generator_match import match_findings, match_sentence
from scorer.metrics.copying.generator_match import GeneratorMatch, generator_match
from scorer.metrics.copying.latent_recovery import VERBATIM
from scorer.metrics.sample_quality.two_sample import TwoSample, two_sample
from tests.pure.oracles import Matrix


def errors(found: int, count: int) -> Matrix:
    """The errors of ``count`` targets, with ``found`` of them verbatim."""
    return np.where(np.arange(count) < found, 0.001, 10 * VERBATIM)


def features(shift: float) -> TwoSample:
    random = np.random.default_rng(0)
    sets = random.standard_normal((2, 120, 8))
    return two_sample(sets[0] + shift, sets[1], random=random)


def match(entry: int, own: int, held_out: int, compared: TwoSample | None = None) -> GeneratorMatch:
    return generator_match(errors(entry, 60), errors(own, 50), errors(held_out, 100), compared)


@pytest.mark.parametrize(("entry", "own"), [(60, 50), (59, 50), (53, 50), (40, 47), (0, 50)])
def test_p_and_interval_match_scipy(entry: int, own: int) -> None:
    result = match(entry, own, 5)
    table = np.array([[entry, 60 - entry], [own, 50 - own]])
    assert result.p_value == pytest.approx(fisher_exact(table, alternative="less").pvalue)
    interval = binomtest(entry, 60).proportion_ci()
    assert (result.low, result.high) == (interval.low, interval.high)


@pytest.mark.parametrize(
    ("entry", "own", "compared", "verdict", "words"),
    [
        (20, 50, None, "another-generator", "33 %"),
        (20, 50, features(0.0), "another-generator", "Another generator produced this entry"),
        (60, 50, features(2.0), "other-distribution", "newly drawn images differ"),
        (60, 50, features(0.0), "no-difference", "Nothing suggests that another"),
        (60, 50, None, "no-difference", "would detect it with 80 % probability"),
        (10, 20, None, "inconclusive", "search does not find"),
    ],
)
def test_verdicts(entry: int, own: int, compared: TwoSample | None, verdict: str, words: str) -> None:
    result = match(entry, own, 5, compared)
    assert result.verdict == verdict
    assert words in match_sentence(result)
    findings = list(match_findings(result))
    expected = ["generator_match"] if compared is None else ["generator_match", "generator_features"]
    assert [finding.name for finding in findings] == expected
    assert all(finding.sentence.endswith(".") for finding in findings)
    assert (findings[0].value, findings[0].p_value) == (entry / 60, result.p_value)


def test_images_of_another_origin_are_detected_at_the_stated_rate() -> None:
    """A simulation checks the detectable share. The generator finds 98 % of its own images and 10 % of others."""
    result = generator_match(errors(60, 60), errors(49, 50), errors(10, 100))
    assert result.detectable.with_80 is not None
    random = np.random.default_rng(0)
    for foreign, low, high in ((result.detectable.with_80, 0.76, 0.95), (0.0, 0.0, 0.005)):
        found = random.binomial(60, (1 - foreign) * 0.98 + foreign * 0.1, 1000)
        detected = [
            times
            for count, times in zip(*np.unique(found, return_counts=True), strict=True)
            if generator_match(errors(count, 60), errors(49, 50), errors(10, 100)).verdict == "another-generator"
        ]
        assert low <= sum(detected) / 1000 <= high, foreign


def test_a_generator_that_can_make_every_image_gives_no_evidence() -> None:
    result = match(60, 50, 99)
    assert result.detectable.with_80 is None
    assert "so finding the entry's images says little" in match_sentence(result)
