"""Findings of sample quality: every quantity has a unit, a direction and a sentence."""

from typing import Any

import numpy as np

from scorer.findings import duplicates
from scorer.findings import sample_quality as words
from scorer.findings.finding import Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.metrics.copying.ndb import compare_counts
from scorer.metrics.copying.near_duplicates import near_duplicates, originals_of
from scorer.metrics.copying.partial_copying import partial_copying
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.cmmd import cmmd
from scorer.metrics.sample_quality.diversity import rke, vendi_score
from scorer.metrics.sample_quality.fid_infinity import fid_infinity
from scorer.metrics.sample_quality.frechet import statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_influences
from scorer.metrics.sample_quality.inception_score import inception_score
from scorer.metrics.sample_quality.kid import squared_mmd
from scorer.metrics.sample_quality.likelihood_divergence import likelihood_divergence
from scorer.metrics.sample_quality.prd import prd
from scorer.metrics.sample_quality.prdc import prdc_with_error
from scorer.metrics.sample_quality.relative_mmd import relative_mmd
from scorer.metrics.sample_quality.two_sample import two_sample
from tests.pure.own_passes import authenticity, internal_duplicates


def photographs(seed: int, count: int = 120) -> Any:
    return np.abs(np.random.default_rng(seed).standard_normal((count, 8)))


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def compute_all_findings(own: Any) -> dict[str, Finding]:
    training, held_out = photographs(1), photographs(2)
    upright = nearest(own, training)
    near = near_duplicates(originals_of(upright, upright), nearest(held_out, training).distance)
    statistics = statistics_of(training)
    influences = frechet_influences(own, statistics)
    rows = compare_counts(np.array([len(own) - 40, 40]), np.array([60, 60]))
    findings = [
        *words.two_sample_findings(two_sample(own, training, random=random())),
        *words.ndb_findings(rows),
        *words.prd_findings(prd(own, training, random=random())),
        words.relative_mmd_finding(relative_mmd(own, training, held_out, random=random())),
        words.kid_finding(squared_mmd(own, training)),
        words.cmmd_finding(cmmd(own, training)),
        *words.likelihood_findings(likelihood_divergence(own, training, held_out, random=random())),
        words.diversity_finding("vendi", "the Vendi score", vendi_score(own), training=vendi_score(training)),
        words.diversity_finding("rke", "RKE", rke(own, 1.0), training=rke(training, 1.0)),
        *words.prdc_findings(*prdc_with_error(own, training)),
        words.authenticity_finding(authenticity(own, training), authenticity(held_out, training)),
        words.inception_score_finding(inception_score(own)),
        words.fid_infinity_finding(
            fid_infinity(own, statistics, influences=influences, random=random(), min_size=60), 1.5
        ),
        duplicates.near_duplicates_finding(near),
        duplicates.internal_duplicates_finding(internal_duplicates(own, near.closeness, len(training))),
    ]
    return {finding.name: finding for finding in findings}


def test_an_honest_entry() -> None:
    findings = compute_all_findings(photographs(3))
    assert len(findings) == 23
    for finding in findings.values():
        assert finding.value is not None
        assert np.isfinite(finding.value)
        assert finding.standard_error is not None
        assert finding.unit
        assert finding.direction
        assert finding.sentence.endswith(".")
        assert "nan" not in finding.sentence
    assert "cannot distinguish" in findings["two_sample"].sentence
    assert "may be chance" in findings["relative_mmd"].sentence
    assert findings["authenticity"].sentence.endswith("may be chance.")
    assert "FLD of 120 images of each kind is" in findings["fld"].sentence
    assert "The same number of training images is as diverse as" in findings["rke"].sentence


def test_copies_that_repeat() -> None:
    findings = compute_all_findings(np.concatenate([photographs(1)[:100], photographs(1)[:20]]))
    assert "Generated images are next to real images, as copies would be." in findings["two_sample"].sentence
    assert "Some images are versions of training images" in findings["authenticity"].sentence
    assert findings["near_copies"].value == 1.0
    assert findings["near_copies"].sentence.startswith(
        "120 of 120 images (100 %) are near duplicates of 100 training images, "
    )
    assert findings["repeats"].sentence.startswith(
        "40 of 120 images are near duplicates of another image, in 20 groups"
    )
    assert (findings["repeats"].p_value or 0.0) < 1e-3


def test_images_of_another_distribution() -> None:
    findings = compute_all_findings(photographs(4) + 3.0)
    assert "The test distinguishes real from generated images." in findings["two_sample"].sentence
    assert "farther than held-out images" in findings["relative_mmd"].sentence


def test_missing_values_are_reported() -> None:
    assert words.fid_infinity_finding(None, 3.0).value is None
    training = photographs(5)
    upright = nearest(training, training)
    same = originals_of(upright, upright)
    assert duplicates.near_duplicates_finding(near_duplicates(same, same.distance)).value is None
    assert duplicates.internal_duplicates_finding(
        internal_duplicates(photographs(6, 5), partial_copying(np.ones(9), np.full(9, 1e-9)), 9)
    ).sentence.startswith("No two of the 5 images are near duplicates")
    alone = words.authenticity_finding(authenticity(photographs(7), training))
    assert (alone.p_value, alone.sentence[-1]) == (None, ".")


def test_formats_of_shares_and_p_values() -> None:
    assert [format_percent(share) for share in (0.0, 1.0, 0.62, 0.004)] == ["0 %", "100 %", "62 %", "0.4 %"]
    assert [format_p_value(value) for value in (0.5, 0.0234, 1e-9)] == ["p = 0.5", "p = 0.023", "p < 0.0001"]
