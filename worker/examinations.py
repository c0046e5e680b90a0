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
from worker.case import Case
from worker.grounds import Lacking

SUBSET = 1000
"""Images of a KID subset, as the field has it; fewer where there are fewer."""
NO_CLASSIFIER = "The network has no classifier, so there are no classes to look at."


class Number(NamedTuple):
    """What a test finds: needed apart from the finding where the test can't be made."""

    name: str
    unit: str
    direction: str


@dataclass(frozen=True)
class Examination:
    """One test: its row in the table of methods, how it looks at a case, and what it finds."""

    test: str
    find: Callable[[Case], tuple[Finding, ...]]
    numbers: tuple[Number, ...]
    weight: float
    """About how long it takes beside the others, for progress."""


def _data_copying(case: Case) -> tuple[Finding, ...]:
    return copying.data_copying_findings(case.copying)


def _representation(case: Case) -> tuple[Finding, ...]:
    return copying.cell_count_findings(case.copying)


def _closeness(case: Case) -> tuple[Finding, ...]:
    return copying.partial_copying_findings(case.closeness)


def _near_copies(case: Case) -> tuple[Finding, ...]:
    return (duplicates.near_duplicates_finding(case.near_copies),)


def _thumbnails(case: Case) -> tuple[Finding, ...]:
    return (thumbnail_copies_finding(case.thumbnail_copies),)


def _pixels(case: Case) -> tuple[Finding, ...]:
    return (duplicates.pixel_copies_finding(case.entry.copies), *duplicates.exact_duplicates_findings(case.twins))


def _repeats(case: Case) -> tuple[Finding, ...]:
    return (duplicates.internal_duplicates_finding(case.repeats),)


def _authenticity(case: Case) -> tuple[Finding, ...]:
    fresh = case.grounds.fresh
    return (baselines.authenticity_finding(case.authenticity, fresh.authentic if fresh else None),)


def _two_sample(case: Case) -> tuple[Finding, ...]:
    found = two_sample(case.entry.features, case.training, random=case.random(1), progress=case.progress)
    return baselines.two_sample_findings(found)


def _relative_mmd(case: Case) -> tuple[Finding, ...]:
    found = relative_mmd(
        case.entry.features,
        case.training,
        case.fresh.features,
        random=case.random(2),
        progress=case.progress,
    )
    return (baselines.relative_mmd_finding(found),)


def _binning(case: Case) -> tuple[Finding, ...]:
    bins = case.grounds.bins
    if not isinstance(bins, TrainingBins):
        raise Lacking(bins)
    return baselines.ndb_findings(compare_with_bins(case.entry.features, bins))


def _prd(case: Case) -> tuple[Finding, ...]:
    found = prd(case.entry.features, case.training, random=case.random(3), progress=case.progress)
    return baselines.prd_findings(found)


def _kid(case: Case) -> tuple[Finding, ...]:
    own, real = case.entry.features, case.training
    size = min(SUBSET, len(own), len(real))
    found = kernel_inception_distance(own, real, random=case.random(4), subset_size=size, progress=case.progress)
    return (baselines.kid_finding(found),)


def _overlap(case: Case) -> tuple[Finding, ...]:
    return baselines.prdc_findings(*prdc_with_error(case.entry.features, case.manifold, progress=case.progress))


def _scores(case: Case) -> tuple[Finding, ...]:
    entry = case.entry
    error = frechet_standard_error(entry.features, case.statistics, progress=case.progress)
    return baselines.fid_finding(entry.fid, error), copying.memorization_distance_finding(
        entry.distance, entry.distance_se
    )


def _limit(case: Case) -> tuple[Finding, ...]:
    found = fid_infinity(case.entry.features, case.statistics, random=case.random(5), progress=case.progress)
    return (baselines.fid_infinity_finding(found, case.entry.fid),)


def _inception_score(case: Case) -> tuple[Finding, ...]:
    if case.entry.logits is None:
        raise Lacking(NO_CLASSIFIER)
    return (baselines.inception_score_finding(inception_score(case.entry.logits, random=case.random(6))),)


EXAMINATIONS = (
    Examination(
        "data-copying",
        _data_copying,
        (
            Number("z_u", copying.DEVIATIONS, copying.BALANCED),
            Number("c_t", copying.DEVIATIONS, copying.BALANCED),
            Number("copied_cells", copying.REGIONS, LOWER),
        ),
        2,
    ),
    Examination(
        "representation",
        _representation,
        tuple(Number(name, copying.REGIONS, copying.FIVE_PERCENT) for name in ("ndb_over", "ndb_under")),
        0,
    ),
    Examination(
        "closeness",
        _closeness,
        (
            Number("partly_copied", SHARE, LOWER),
            *(Number(copying.quantile_name(level), copying.COSINE, HIGHER) for level in QUANTILES),
        ),
        5,
    ),
    Examination("near-copies", _near_copies, (Number("near_copies", SHARE, LOWER),), 5),
    Examination("thumbnails", _thumbnails, (Number("thumbnail_copies", SHARE, LOWER),), 2),
    Examination(
        "pixels",
        _pixels,
        (
            Number("pixel_copies", SHARE, LOWER),
            Number("identical", copying.IMAGES, LOWER),
            Number("mirrored_twins", copying.IMAGES, LOWER),
        ),
        0,
    ),
    Examination("repeats", _repeats, (Number("repeats", SHARE, LOWER),), 5),
    Examination("authenticity", _authenticity, (Number("authenticity", SHARE, HIGHER),), 10),
    Examination(
        "two-sample",
        _two_sample,
        tuple(Number(name, SHARE, HALF) for name in ("two_sample_real", "two_sample_generated", "two_sample")),
        20,
    ),
    Examination("relative-mmd", _relative_mmd, (Number("relative_mmd", SQUARED_MMD, NEITHER),), 3),
    Examination("binning", _binning, (Number("ndb_share", SHARE, USUAL), Number("jensen_shannon", NATS, LOWER)), 1),
    Examination("prd", _prd, (Number("prd_f8", SHARE, HIGHER), Number("prd_f1_8", SHARE, HIGHER)), 10),
    Examination("kid", _kid, (Number("kid", SQUARED_MMD, LOWER),), 15),
    Examination(
        "overlap",
        _overlap,
        (
            Number("precision", SHARE, HIGHER),
            Number("recall", SHARE, HIGHER),
            Number("density", RATIO, HIGHER),
            Number("coverage", SHARE, HIGHER),
        ),
        30,
    ),
    Examination(
        "scores",
        _scores,
        (Number("fid", FID, LOWER), Number("memorization_distance", copying.COSINE, HIGHER)),
        5,
    ),
    Examination("fid-infinity", _limit, (Number("fid_infinity", FID, LOWER),), 30),
    Examination("inception-score", _inception_score, (Number("inception_score", CLASSES, HIGHER),), 1),
)
