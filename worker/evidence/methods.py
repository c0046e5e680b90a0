"""The tests for scored entries, in the order of the reported findings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from scorer.findings import copying, duplicates, sample_quality
from scorer.findings.finding import HIGHER, LOWER, SHARE, Finding
from scorer.findings.sample_quality import (
    CLASSES,
    CMMD,
    EFFECTIVE_IMAGES,
    FID,
    FLD,
    GAP,
    HALF,
    NATS,
    NEITHER,
    RATIO,
    SQUARED_MMD,
    USUAL,
)
from scorer.findings.support_size import support_finding
from scorer.metrics.copying.ndb import TrainingBins, compare_with_bins
from scorer.metrics.copying.partial_copying import QUANTILES
from scorer.metrics.sample_quality.cmmd import cmmd
from scorer.metrics.sample_quality.diversity import rke, vendi_score
from scorer.metrics.sample_quality.fid_infinity import fid_infinity
from scorer.metrics.sample_quality.frechet_standard_error import standard_error_of
from scorer.metrics.sample_quality.inception_score import inception_score
from scorer.metrics.sample_quality.kernel_sums import median_width
from scorer.metrics.sample_quality.likelihood_divergence import likelihood_divergence
from scorer.metrics.sample_quality.prd import prd
from scorer.metrics.sample_quality.relative_mmd import relative_mmd
from scorer.metrics.statistics.subsampling import equal_subsamples
from worker.evidence.analysis import Analysis
from worker.evidence.reference import NotComputable

NO_CLASSIFIER = "The extractor has no classifier, so there are no classes to compare."
MAX_DIVERSITY_IMAGES = 4000
NOT_CLIP = "CMMD compares CLIP features, but this track uses another extractor."


class Quantity(NamedTuple):
    """One number of a test, described separately from its value, so that it can be reported without one."""

    name: str
    unit: str
    direction: str


@dataclass(frozen=True)
class TestMethod:
    """One test: its name in the table of methods, its function on an analysis, and its quantities."""

    test: str
    run: Callable[[Analysis], tuple[Finding, ...]]
    quantities: tuple[Quantity, ...]
    weight: float
    """Its approximate duration relative to the other tests, for progress."""


def _pixels(analysis: Analysis) -> tuple[Finding, ...]:
    return (
        duplicates.pixel_copies_finding(analysis.entry.copies),
        *duplicates.exact_duplicates_findings(analysis.exact_duplicates),
    )


def _authenticity(analysis: Analysis) -> tuple[Finding, ...]:
    held_out = analysis.reference.held_out
    return (sample_quality.authenticity_finding(analysis.authenticity, held_out.authenticity if held_out else None),)


def _relative_mmd(analysis: Analysis) -> tuple[Finding, ...]:
    mmd = relative_mmd(
        analysis.entry.features,
        analysis.training,
        analysis.held_out.features,
        random=analysis.random(2),
        authors=analysis.authors,
        progress=analysis.progress,
    )
    return (sample_quality.relative_mmd_finding(mmd),)


def _ndb(analysis: Analysis) -> tuple[Finding, ...]:
    bins = analysis.reference.bins
    if not isinstance(bins, TrainingBins):
        raise NotComputable(bins)
    return sample_quality.ndb_findings(compare_with_bins(analysis.entry.features, bins))


def _prd(analysis: Analysis) -> tuple[Finding, ...]:
    curve = prd(analysis.entry.features, analysis.training, random=analysis.random(3), progress=analysis.progress)
    return sample_quality.prd_findings(curve)


def _cmmd(analysis: Analysis) -> tuple[Finding, ...]:
    if analysis.entry.extractor != "clip":
        raise NotComputable(NOT_CLIP)
    return (sample_quality.cmmd_finding(cmmd(analysis.entry.features, analysis.training, progress=analysis.progress)),)


def _likelihood(analysis: Analysis) -> tuple[Finding, ...]:
    divergence = likelihood_divergence(
        analysis.entry.features,
        analysis.training,
        analysis.held_out.features,
        random=analysis.random(7),
        baseline=analysis.reference.likelihood_baseline,
        progress=analysis.progress,
    )
    return sample_quality.likelihood_findings(divergence)


def _diversity(analysis: Analysis) -> tuple[Finding, ...]:
    sets = {"generated": analysis.entry.features, "reference": analysis.training}
    own, real = equal_subsamples(sets, analysis.random(8), MAX_DIVERSITY_IMAGES, min_images=2)
    sigma = median_width(analysis.training, analysis.training)
    return (
        sample_quality.diversity_finding("vendi", "the Vendi score", vendi_score(own), training=vendi_score(real)),
        sample_quality.diversity_finding(
            "rke", "RKE", rke(own, sigma, progress=analysis.progress), training=rke(real, sigma)
        ),
    )


def _scores(analysis: Analysis) -> tuple[Finding, ...]:
    entry = analysis.entry
    error = standard_error_of(analysis.influences)
    return sample_quality.fid_finding(entry.fid, error), copying.memorization_distance_finding(
        entry.distance, entry.distance_se
    )


def _fid_infinity(analysis: Analysis) -> tuple[Finding, ...]:
    extrapolated = fid_infinity(
        analysis.entry.features,
        analysis.statistics,
        influences=analysis.influences,
        random=analysis.random(5),
        progress=analysis.progress,
    )
    return (sample_quality.fid_infinity_finding(extrapolated, analysis.entry.fid),)


def _inception_score(analysis: Analysis) -> tuple[Finding, ...]:
    if analysis.entry.logits is None:
        raise NotComputable(NO_CLASSIFIER)
    return (sample_quality.inception_score_finding(inception_score(analysis.entry.logits, random=analysis.random(6))),)


@dataclass(frozen=True)
class SharedPass:
    """A pass over distances that several tests share, with a name and a weight as a test has."""

    test: str
    run: Callable[[Analysis], object]
    weight: float


SHARED_PASSES = (
    SharedPass("distances-within", lambda analysis: analysis.among_own, 15),
    SharedPass("distances-to-training", lambda analysis: analysis.to_training, 30),
)
TEST_METHODS = (
    TestMethod(
        "data-copying",
        lambda analysis: copying.data_copying_findings(analysis.copying),
        (
            Quantity("z_u", copying.DEVIATIONS, copying.BALANCED),
            Quantity("c_t", copying.DEVIATIONS, copying.BALANCED),
            Quantity("copied_cells", copying.REGIONS, LOWER),
        ),
        2,
    ),
    TestMethod(
        "representation",
        lambda analysis: copying.cell_count_findings(analysis.copying),
        tuple(Quantity(name, copying.REGIONS, copying.FIVE_PERCENT) for name in ("ndb_over", "ndb_under")),
        0,
    ),
    TestMethod(
        "closeness",
        lambda analysis: copying.partial_copying_findings(analysis.closeness),
        (
            Quantity("partly_copied", SHARE, LOWER),
            *(Quantity(copying.quantile_name(level), copying.COSINE, HIGHER) for level in QUANTILES),
        ),
        0,
    ),
    TestMethod(
        "near-copies",
        lambda analysis: (duplicates.near_duplicates_finding(analysis.near_copies),),
        (Quantity("near_copies", SHARE, LOWER),),
        5,
    ),
    TestMethod(
        "thumbnails",
        lambda analysis: (duplicates.thumbnail_copies_finding(analysis.thumbnail_copies),),
        (Quantity("thumbnail_copies", SHARE, LOWER),),
        2,
    ),
    TestMethod(
        "perceptual-hashes",
        lambda analysis: (duplicates.hash_copies_finding(analysis.hash_copies),),
        (Quantity("hash_copies", SHARE, LOWER),),
        10,
    ),
    TestMethod(
        "pixels",
        _pixels,
        (
            Quantity("pixel_copies", SHARE, LOWER),
            Quantity("identical", copying.IMAGES, LOWER),
            Quantity("mirrored_twins", copying.IMAGES, LOWER),
        ),
        0,
    ),
    TestMethod(
        "repeats",
        lambda analysis: (duplicates.internal_duplicates_finding(analysis.repeats),),
        (Quantity("repeats", SHARE, LOWER),),
        0,
    ),
    TestMethod("authenticity", _authenticity, (Quantity("authenticity", SHARE, HIGHER),), 0),
    TestMethod(
        "relative-distances",
        lambda analysis: (duplicates.relative_copies_finding(analysis.relative_copies),),
        (Quantity("relative_copies", SHARE, LOWER),),
        0,
    ),
    TestMethod(
        "membership",
        lambda analysis: copying.membership_findings(analysis.membership),
        (Quantity("membership_auc", SHARE, copying.EVEN), Quantity("membership_tpr", SHARE, copying.ONE_PERCENT)),
        2,
    ),
    TestMethod(
        "two-sample",
        lambda analysis: sample_quality.two_sample_findings(analysis.two_sample),
        tuple(Quantity(name, SHARE, HALF) for name in ("two_sample_real", "two_sample_generated", "two_sample")),
        0,
    ),
    TestMethod("relative-mmd", _relative_mmd, (Quantity("relative_mmd", SQUARED_MMD, NEITHER),), 3),
    TestMethod("binning", _ndb, (Quantity("ndb_share", SHARE, USUAL), Quantity("jensen_shannon", NATS, LOWER)), 1),
    TestMethod("prd", _prd, (Quantity("prd_f8", SHARE, HIGHER), Quantity("prd_f1_8", SHARE, HIGHER)), 15),
    TestMethod(
        "kid", lambda analysis: (sample_quality.kid_finding(analysis.kid),), (Quantity("kid", SQUARED_MMD, LOWER),), 0
    ),
    TestMethod("cmmd", _cmmd, (Quantity("cmmd", CMMD, LOWER),), 15),
    TestMethod("likelihood", _likelihood, (Quantity("fld", FLD, LOWER), Quantity("fld_gap", FLD, GAP)), 10),
    TestMethod(
        "diversity",
        _diversity,
        tuple(Quantity(name, EFFECTIVE_IMAGES, HIGHER) for name in ("vendi", "rke")),
        8,
    ),
    TestMethod(
        "overlap",
        lambda analysis: sample_quality.prdc_findings(*analysis.overlap),
        (
            Quantity("precision", SHARE, HIGHER),
            Quantity("recall", SHARE, HIGHER),
            Quantity("density", RATIO, HIGHER),
            Quantity("coverage", SHARE, HIGHER),
        ),
        0,
    ),
    TestMethod(
        "scores",
        _scores,
        (Quantity("fid", FID, LOWER), Quantity("memorization_distance", copying.COSINE, HIGHER)),
        5,
    ),
    TestMethod("fid-infinity", _fid_infinity, (Quantity("fid_infinity", FID, LOWER),), 30),
    TestMethod("inception-score", _inception_score, (Quantity("inception_score", CLASSES, HIGHER),), 1),
)
DRAWS_METHODS = (
    TestMethod(
        "support",
        lambda analysis: (support_finding(analysis.support),),
        (Quantity("support", copying.IMAGES, HIGHER),),
        20,
    ),
)
"""The tests of a generator's draws."""
