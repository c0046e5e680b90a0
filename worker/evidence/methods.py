"""The tests of an entry, in the order in which their findings are told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from scorer.findings import copying, duplicates
from scorer.findings import sample_quality as baselines
from scorer.findings.duplicates import thumbnail_copies_finding
from scorer.findings.finding import HIGHER, LOWER, SHARE, Finding
from scorer.findings.sample_quality import CLASSES, FID, HALF, NATS, NEITHER, RATIO, SQUARED_MMD, USUAL
from scorer.metrics.copying.ndb import TrainingBins, compare_with_bins
from scorer.metrics.copying.partial_copying import QUANTILES
from scorer.metrics.sample_quality.fid_infinity import fid_infinity
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.metrics.sample_quality.inception_score import inception_score
from scorer.metrics.sample_quality.kid import kernel_inception_distance
from scorer.metrics.sample_quality.prd import prd
from scorer.metrics.sample_quality.prdc import prdc_with_error
from scorer.metrics.sample_quality.relative_mmd import relative_mmd
from scorer.metrics.sample_quality.two_sample import two_sample
from worker.evidence.analysis import Analysis
from worker.evidence.reference import NotComputable

KID_SUBSET_SIZE = 1000
"""Images of a KID subset, as the field has it; fewer where there are fewer."""
NO_CLASSIFIER = "The network has no classifier, so there are no classes to look at."


class Quantity(NamedTuple):
    """What a test finds: needed apart from the finding where the test can't be made."""

    name: str
    unit: str
    direction: str


@dataclass(frozen=True)
class TestMethod:
    """One test: its row in the table of methods, how it looks at a case, and what it finds."""

    test: str
    find: Callable[[Analysis], tuple[Finding, ...]]
    numbers: tuple[Quantity, ...]
    weight: float
    """About how long it takes beside the others, for progress."""


def _data_copying(case: Analysis) -> tuple[Finding, ...]:
    return copying.data_copying_findings(case.copying)


def _ndb_cells(case: Analysis) -> tuple[Finding, ...]:
    return copying.cell_count_findings(case.copying)


def _partial_copying(case: Analysis) -> tuple[Finding, ...]:
    return copying.partial_copying_findings(case.closeness)


def _near_duplicates(case: Analysis) -> tuple[Finding, ...]:
    return (duplicates.near_duplicates_finding(case.near_copies),)


def _thumbnails(case: Analysis) -> tuple[Finding, ...]:
    return (thumbnail_copies_finding(case.thumbnail_copies),)


def _pixels(case: Analysis) -> tuple[Finding, ...]:
    return (duplicates.pixel_copies_finding(case.entry.copies), *duplicates.exact_duplicates_findings(case.twins))


def _internal_duplicates(case: Analysis) -> tuple[Finding, ...]:
    return (duplicates.internal_duplicates_finding(case.repeats),)


def _authenticity(case: Analysis) -> tuple[Finding, ...]:
    fresh = case.grounds.fresh
    return (baselines.authenticity_finding(case.authenticity, fresh.authentic if fresh else None),)


def _two_sample(case: Analysis) -> tuple[Finding, ...]:
    found = two_sample(case.entry.features, case.training, random=case.random(1), progress=case.progress)
    return baselines.two_sample_findings(found)


def _relative_mmd(case: Analysis) -> tuple[Finding, ...]:
    found = relative_mmd(
        case.entry.features,
        case.training,
        case.fresh.features,
        random=case.random(2),
        progress=case.progress,
    )
    return (baselines.relative_mmd_finding(found),)


def _ndb(case: Analysis) -> tuple[Finding, ...]:
    bins = case.grounds.bins
    if not isinstance(bins, TrainingBins):
        raise NotComputable(bins)
    return baselines.ndb_findings(compare_with_bins(case.entry.features, bins))


def _prd(case: Analysis) -> tuple[Finding, ...]:
    found = prd(case.entry.features, case.training, random=case.random(3), progress=case.progress)
    return baselines.prd_findings(found)


def _kid(case: Analysis) -> tuple[Finding, ...]:
    own, real = case.entry.features, case.training
    size = min(KID_SUBSET_SIZE, len(own), len(real))
    found = kernel_inception_distance(own, real, random=case.random(4), subset_size=size, progress=case.progress)
    return (baselines.kid_finding(found),)


def _prdc(case: Analysis) -> tuple[Finding, ...]:
    return baselines.prdc_findings(*prdc_with_error(case.entry.features, case.manifold, progress=case.progress))


def _scores(case: Analysis) -> tuple[Finding, ...]:
    entry = case.entry
    error = frechet_standard_error(entry.features, case.statistics, progress=case.progress)
    return baselines.fid_finding(entry.fid, error), copying.memorization_distance_finding(
        entry.distance, entry.distance_se
    )


def _fid_infinity(case: Analysis) -> tuple[Finding, ...]:
    found = fid_infinity(case.entry.features, case.statistics, random=case.random(5), progress=case.progress)
    return (baselines.fid_infinity_finding(found, case.entry.fid),)


def _inception_score(case: Analysis) -> tuple[Finding, ...]:
    if case.entry.logits is None:
        raise NotComputable(NO_CLASSIFIER)
    return (baselines.inception_score_finding(inception_score(case.entry.logits, random=case.random(6))),)


TEST_METHODS = (
    TestMethod(
        "data-copying",
        _data_copying,
        (
            Quantity("z_u", copying.DEVIATIONS, copying.BALANCED),
            Quantity("c_t", copying.DEVIATIONS, copying.BALANCED),
            Quantity("copied_cells", copying.REGIONS, LOWER),
        ),
        2,
    ),
    TestMethod(
        "representation",
        _ndb_cells,
        tuple(Quantity(name, copying.REGIONS, copying.FIVE_PERCENT) for name in ("ndb_over", "ndb_under")),
        0,
    ),
    TestMethod(
        "closeness",
        _partial_copying,
        (
            Quantity("partly_copied", SHARE, LOWER),
            *(Quantity(copying.quantile_name(level), copying.COSINE, HIGHER) for level in QUANTILES),
        ),
        5,
    ),
    TestMethod("near-copies", _near_duplicates, (Quantity("near_copies", SHARE, LOWER),), 5),
    TestMethod("thumbnails", _thumbnails, (Quantity("thumbnail_copies", SHARE, LOWER),), 2),
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
    TestMethod("repeats", _internal_duplicates, (Quantity("repeats", SHARE, LOWER),), 5),
    TestMethod("authenticity", _authenticity, (Quantity("authenticity", SHARE, HIGHER),), 10),
    TestMethod(
        "two-sample",
        _two_sample,
        tuple(Quantity(name, SHARE, HALF) for name in ("two_sample_real", "two_sample_generated", "two_sample")),
        20,
    ),
    TestMethod("relative-mmd", _relative_mmd, (Quantity("relative_mmd", SQUARED_MMD, NEITHER),), 3),
    TestMethod("binning", _ndb, (Quantity("ndb_share", SHARE, USUAL), Quantity("jensen_shannon", NATS, LOWER)), 1),
    TestMethod("prd", _prd, (Quantity("prd_f8", SHARE, HIGHER), Quantity("prd_f1_8", SHARE, HIGHER)), 10),
    TestMethod("kid", _kid, (Quantity("kid", SQUARED_MMD, LOWER),), 15),
    TestMethod(
        "overlap",
        _prdc,
        (
            Quantity("precision", SHARE, HIGHER),
            Quantity("recall", SHARE, HIGHER),
            Quantity("density", RATIO, HIGHER),
            Quantity("coverage", SHARE, HIGHER),
        ),
        30,
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
