"""Findings of sample quality: FID, KID, CMMD, FLD, PRDC, PRD, two-sample tests, NDB, authenticity, diversity, the
Inception score."""

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.metrics.copying.authenticity import Authenticity, p_fewer
from scorer.metrics.copying.ndb import NDB_LEVEL, BinComparison
from scorer.metrics.features import Estimate
from scorer.metrics.sample_quality.inception_score import SPLITS
from scorer.metrics.sample_quality.likelihood_divergence import LikelihoodDivergence
from scorer.metrics.sample_quality.prd import PrecisionRecall
from scorer.metrics.sample_quality.prdc import Prdc
from scorer.metrics.sample_quality.relative_mmd import RelativeMmd
from scorer.metrics.sample_quality.two_sample import Accuracy, TwoSample

HALF = "0.5 is best; far below indicates copying"
USUAL = f"{NDB_LEVEL} is best"
NEITHER = "0 is best; above 0, images are closer to the training images than held-out images are"
GAP = "0 is best; far below indicates copying"
SQUARED_MMD, FID, CLASSES, NATS, RATIO = "squared MMD", "FID", "classes", "nats", "ratio"
CMMD, FLD, EFFECTIVE_IMAGES = "CMMD", "FLD", "effective images"


def two_sample_findings(test: TwoSample) -> tuple[Finding, ...]:
    outcome = (
        f"The nearest image is of the same kind for {format_percent(test.real.share)} of the real and"
        f" {format_percent(test.generated.share)} of the generated images;"
        f" {format_percent(test.both.expected)} would be expected by chance"
    )
    conclusion = f"{outcome}. The test cannot distinguish real from generated images."
    if test.both.p_below < SIGNIFICANCE_LEVEL:
        conclusion = (
            f"{outcome} ({format_p_value(test.both.p_below)})."
            " Generated images are next to real images, as copies would be."
        )
    if test.both.p_above < SIGNIFICANCE_LEVEL:
        conclusion = (
            f"{outcome} ({format_p_value(test.both.p_above)}). The test distinguishes real from generated images."
        )
    return (
        _accuracy("two_sample_real", test.real, _nearest(test.real, "real")),
        _accuracy("two_sample_generated", test.generated, _nearest(test.generated, "generated")),
        _accuracy("two_sample", test.both, conclusion),
    )


def _accuracy(name: str, accuracy: Accuracy, sentence: str) -> Finding:
    both_sides = min(1.0, 2.0 * min(accuracy.p_above, accuracy.p_below))
    return Finding(name, accuracy.share, SHARE, HALF, sentence, accuracy.deviation, both_sides, "null")


def _nearest(accuracy: Accuracy, kind: str) -> str:
    return (
        f"For {format_percent(accuracy.share)} of the {kind} images, the nearest image is also {kind};"
        f" {format_percent(accuracy.expected)} would be expected by chance."
    )


def ndb_findings(comparison: BinComparison) -> tuple[Finding, ...]:
    bins = len(comparison.excess)
    conclusion = "by more than chance" if comparison.p_value < SIGNIFICANCE_LEVEL else "by no more than chance"
    have = "has" if comparison.different == 1 else "have"
    share = (
        f"{comparison.different} of {bins} bins {have} significantly different shares of the generated and of the"
        f" training images; about {NDB_LEVEL * bins:.0f} would be expected by chance. All bins together differ"
        f" {conclusion} ({format_p_value(comparison.p_value)})."
    )
    divergence = (
        f"The Jensen-Shannon divergence between the two sets, counted in bins, is {comparison.divergence:.4f} nats;"
        f" for samples of these sizes from one distribution, it would be about {comparison.expected_divergence:.4f}."
    )
    return (
        Finding("ndb_share", comparison.share, SHARE, USUAL, share, comparison.deviation, comparison.p_value, "null"),
        Finding(
            "jensen_shannon",
            comparison.divergence,
            NATS,
            LOWER,
            divergence,
            comparison.divergence_error,
            comparison.p_value,
            "sampling",
        ),
    )


def prd_findings(curve: PrecisionRecall) -> tuple[Finding, ...]:
    """F_8 and F_1/8 of the PRD curve."""
    return tuple(
        Finding(
            name,
            getattr(curve.mean, what),
            SHARE,
            HIGHER,
            f"{label}, which favours {what}, is {getattr(curve.mean, what):.3f} ± {getattr(curve.error, what):.3f}. It"
            f" is the mean over {curve.clusterings} clusterings of both sets, with a standard deviation of"
            f" {getattr(curve.between, what):.3f}; for identical sets, it is 1.",
            getattr(curve.error, what),
            error_kind="sampling",
        )
        for name, what, label in (("prd_f8", "recall", "F8"), ("prd_f1_8", "precision", "F1/8"))
    )


def relative_mmd_finding(test: RelativeMmd) -> Finding:
    outcome = (
        f"The kernel distance to the training images is {test.generated:.2g} for generated images and"
        f" {test.held_out:.2g} for held-out images"
    )
    conclusion = f"{outcome}. The difference may be chance."
    if test.p_closer < SIGNIFICANCE_LEVEL:
        conclusion = f"{outcome} ({format_p_value(test.p_closer)}). Generated images are closer than held-out images."
    if test.p_farther < SIGNIFICANCE_LEVEL:
        conclusion = (
            f"{outcome} ({format_p_value(test.p_farther)}). Generated images are farther than held-out images, so this"
            " test shows no copying."
        )
    difference = test.held_out - test.generated
    error = test.sampling_error
    return Finding("relative_mmd", difference, SQUARED_MMD, NEITHER, conclusion, error, test.p_closer, "sampling")


def kid_finding(kid: Estimate) -> Finding:
    sentence = (
        f"The kernel distance to the training images is {kid.value:.4g} ± {kid.standard_error:.2g} (standard error over"
        " the choice of images); for identical sets, it is 0 on average."
    )
    return Finding("kid", kid.value, SQUARED_MMD, LOWER, sentence, kid.standard_error, error_kind="sampling")


def cmmd_finding(distance: Estimate) -> Finding:
    sentence = (
        f"CMMD, the kernel distance of CLIP features, is {distance.value:.4g} ± {distance.standard_error:.2g} (standard"
        " error over the choice of images). Smaller means closer to the training images."
    )
    return Finding("cmmd", distance.value, CMMD, LOWER, sentence, distance.standard_error, error_kind="sampling")


def likelihood_findings(divergence: LikelihoodDivergence) -> tuple[Finding, ...]:
    fld = (
        f"FLD of {divergence.images:,} images of each kind is {divergence.fld:.4g} ± {divergence.fld_error:.2g}"
        " (standard error over the choice of generated images). Held-out images are this much less likely under"
        " Gaussians around generated images than around training images, in hundredths of a nat per dimension."
    )
    gap = (
        f"The gap of FLD is {divergence.gap:.4g} ± {divergence.gap_error:.2g}. Below 0, training images are more likely"
        " than held-out images under the Gaussians around generated images. These are fitted to training images, so"
        " slightly below 0 is usual; far below indicates copying."
    )
    return (
        Finding("fld", divergence.fld, FLD, LOWER, fld, divergence.fld_error, error_kind="sampling"),
        Finding("fld_gap", divergence.gap, FLD, GAP, gap, divergence.gap_error, error_kind="sampling"),
    )


def diversity_finding(name: str, label: str, own: Estimate, *, training: Estimate) -> Finding:
    """The Vendi score or RKE, compared with that of the same number of training images."""
    sentence = (
        f"According to {label}, the images are as diverse as {own.value:.1f} ± {own.standard_error:.2g} images with"
        f" nothing in common. The same number of training images is as diverse as {training.value:.1f}."
    )
    return Finding(name, own.value, EFFECTIVE_IMAGES, HIGHER, sentence, own.standard_error, error_kind="sampling")


def prdc_findings(prdc: Prdc, error: Prdc) -> tuple[Finding, ...]:
    """Improved precision and recall, density and coverage."""
    sentences = {
        "precision": f"{format_percent(prdc.precision)} of the generated images are in a neighbourhood of a real image",
        "recall": f"{format_percent(prdc.recall)} of the real images are in a neighbourhood of a generated image",
        "density": f"A generated image is in {prdc.density:.2f} times as many real neighbourhoods as a real image",
        "coverage": f"{format_percent(prdc.coverage)} of the real images have a generated image in their neighbourhood",
    }
    units = {"density": RATIO}
    return tuple(
        Finding(
            name,
            getattr(prdc, name),
            units.get(name, SHARE),
            HIGHER,
            f"{sentence} (± {getattr(error, name):.3f}).",
            getattr(error, name),
            error_kind="sampling",
        )
        for name, sentence in sentences.items()
    )


def authenticity_finding(authenticity: Authenticity, held_out: Authenticity | None = None) -> Finding:
    sentence = (
        f"{format_percent(authenticity.share)} of the images are farther from their nearest training image than that"
        " image is from its nearest other training image"
    )
    error = authenticity.standard_error
    if held_out is None:
        return Finding("authenticity", authenticity.share, SHARE, HIGHER, f"{sentence}.", error, error_kind="sampling")
    chance = p_fewer(authenticity, held_out)
    sentence += f"; the same is true of {format_percent(held_out.share)} of the held-out images"
    fewer = (
        f" ({format_p_value(chance)}). Some images are versions of training images."
        if chance < SIGNIFICANCE_LEVEL
        else ". The difference may be chance."
    )
    return Finding("authenticity", authenticity.share, SHARE, HIGHER, sentence + fewer, error, chance, "sampling")


def inception_score_finding(score: Estimate) -> Finding:
    error = score.standard_error
    sentence = (
        f"The Inception score is {score.value:.2f} ± {error:.2g} (standard error over the choice of images, in {SPLITS}"
        " splits). It uses no real images."
    )
    return Finding("inception_score", score.value, CLASSES, HIGHER, sentence, error, error_kind="sampling")


def fid_finding(fid: float, error: float | None) -> Finding:
    """The FID by which the entry is ranked, with its standard error."""
    doubt = (
        " (too few images for a standard error)"
        if error is None
        else f" ± {error:.2g} (standard error over the choice of images)"
    )
    sentence = f"FID is {fid:.2f}{doubt}."
    return Finding("fid", fid, FID, LOWER, sentence, error, error_kind="sampling")


def fid_infinity_finding(line: Estimate | None, fid: float) -> Finding:
    name = "fid_infinity"
    if line is None:
        return Finding(name, None, FID, LOWER, "There are too few images to estimate FID for more of them.")
    error = line.standard_error
    doubt = "" if error is None else f" ± {error:.2g} (standard error over the choice of images)"
    sentence = f"With more and more images, FID would fall from {fid:.2f} to about {line.value:.2f}{doubt}."
    return Finding(name, line.value, FID, LOWER, sentence, error, error_kind="sampling")
