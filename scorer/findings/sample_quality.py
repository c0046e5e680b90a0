"""What the tests besides data-copying found: each number with its unit, its direction and a sentence for a person."""

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.metrics.copying.authenticity import Authenticity, p_fewer
from scorer.metrics.copying.ndb import NDB_LEVEL, BinComparison
from scorer.metrics.sample_quality.fid_infinity import FidInfinity
from scorer.metrics.sample_quality.inception_score import InceptionScore
from scorer.metrics.sample_quality.kid import KernelInceptionDistance
from scorer.metrics.sample_quality.prd import PrecisionRecall
from scorer.metrics.sample_quality.prdc import Prdc, PrdcError
from scorer.metrics.sample_quality.relative_mmd import RelativeMmd
from scorer.metrics.sample_quality.two_sample import Accuracy, TwoSample

HALF = "0.5 is best; far below is copying"
USUAL = f"{NDB_LEVEL} is best"
NEITHER = "0 is best; above 0 is closer to the training images than photographs"
SQUARED_MMD, FID, CLASSES, NATS, RATIO = "squared MMD", "FID", "classes", "nats", "ratio"


def two_sample_findings(found: TwoSample) -> tuple[Finding, ...]:
    """The nearest-neighbour classifier: on real images, on generated ones, and on both."""
    shares = (
        f"{format_percent(found.real.share)} of the real and"
        f" {format_percent(found.generated.share)} of the generated images"
    )
    told = (
        f"By the kind of its nearest image {shares} are told right, where chance makes"
        f" {format_percent(found.both.expected)}"
    )
    both = f"{told}: the two can't be told apart."
    if found.both.p_below < SIGNIFICANCE_LEVEL:
        both = f"{told} ({format_p_value(found.both.p_below)}): generated images lie beside real ones, as copies do."
    if found.both.p_above < SIGNIFICANCE_LEVEL:
        both = f"{told} ({format_p_value(found.both.p_above)}): the two can be told apart."
    return (
        _accuracy("two_sample_real", found.real, f"Of the real images {_nearest(found.real, 'real')}."),
        _accuracy(
            "two_sample_generated",
            found.generated,
            f"Of the generated images {_nearest(found.generated, 'generated')}.",
        ),
        _accuracy("two_sample", found.both, both),
    )


def _accuracy(name: str, found: Accuracy, sentence: str) -> Finding:
    both_sides = min(1.0, 2.0 * min(found.p_above, found.p_below))
    return Finding(name, found.share, SHARE, HALF, sentence, found.deviation, both_sides)


def _nearest(found: Accuracy, kind: str) -> str:
    return f"{format_percent(found.share)} have a {kind} one nearest; chance makes {format_percent(found.expected)}"


def ndb_findings(found: BinComparison) -> tuple[Finding, ...]:
    """NDB / K and the Jensen-Shannon divergence."""
    bins = len(found.excess)
    verdict = "more than chance" if found.p_value < SIGNIFICANCE_LEVEL else "no more than chance"
    share = (
        f"{found.different} of {bins} bins hold another share of the generated images than of the training images,"
        f" {NDB_LEVEL * bins:.0f} are expected; all bins together differ {verdict} ({format_p_value(found.p_value)})."
    )
    divergence = (
        f"Between how both sets fill the bins, the divergence is {found.divergence:.4f} nats; equal sets of these sizes"
        f" have about {found.expected_divergence:.4f}."
    )
    return (
        Finding("ndb_share", found.share, SHARE, USUAL, share, found.deviation, found.p_value),
        Finding("jensen_shannon", found.divergence, NATS, LOWER, divergence, found.divergence_error, found.p_value),
    )


def prd_findings(found: PrecisionRecall) -> tuple[Finding, ...]:
    """F_8 and F_1/8 of the curve."""
    recall, precision = found.mean.recall, found.mean.precision
    return (
        Finding(
            "prd_f8", recall, SHARE, HIGHER, _curve("recall", "F8", recall, found.error.recall), found.error.recall
        ),
        Finding(
            "prd_f1_8",
            precision,
            SHARE,
            HIGHER,
            _curve("precision", "F1/8", precision, found.error.precision),
            found.error.precision,
        ),
    )


def _curve(what: str, name: str, value: float, error: float) -> str:
    return f"Over the cells of both sets, {name}, which weighs {what}, is {value:.3f} ± {error:.3f}; equal sets have 1."


def relative_mmd_finding(found: RelativeMmd) -> Finding:
    """The three-sample kernel test."""
    told = (
        f"By the kernel distance, generated images are {found.generated:.2g} from the training images and fresh"
        f" photographs {found.held_out:.2g}"
    )
    verdict = f"{told}: no difference that chance doesn't make."
    if found.p_closer < SIGNIFICANCE_LEVEL:
        verdict = f"{told} ({format_p_value(found.p_closer)}): closer than photographs are."
    if found.p_farther < SIGNIFICANCE_LEVEL:
        verdict = f"{told} ({format_p_value(found.p_farther)}): farther than photographs are, which shows no copying."
    difference = found.held_out - found.generated
    return Finding("relative_mmd", difference, SQUARED_MMD, NEITHER, verdict, found.standard_error, found.p_closer)


def kid_finding(found: KernelInceptionDistance) -> Finding:
    """The kernel distance over subsets."""
    error = found.resampling_error
    doubt = "" if error is None else f" ± {error:.2g} (by the draw of {found.subsets} subsets)"
    sentence = f"The kernel distance to the real images is {found.mean:.4g}{doubt}; equal sets have 0 on average."
    return Finding("kid", found.mean, SQUARED_MMD, LOWER, sentence, error)


def prdc_findings(found: Prdc, error: PrdcError) -> tuple[Finding, ...]:
    """Improved precision and recall, density and coverage."""
    words = {
        "precision": f"{format_percent(found.precision)} of the generated images lie where real images are",
        "recall": f"{format_percent(found.recall)} of the real images lie where generated ones are",
        "density": f"A generated image lies in {found.density:.2f} times as many real neighbourhoods as a real one",
        "coverage": f"{format_percent(found.coverage)} of the real images have a generated one in their neighbourhood",
    }
    units = {"density": RATIO}
    return tuple(
        Finding(
            name,
            getattr(found, name),
            units.get(name, SHARE),
            HIGHER,
            f"{sentence} (± {getattr(error, name):.3f}).",
            getattr(error, name),
        )
        for name, sentence in words.items()
    )


def authenticity_finding(found: Authenticity, held_out: Authenticity | None = None) -> Finding:
    """The share of authentic images, beside that of held-out photographs where there are any."""
    told = (
        f"{format_percent(found.share)} of the images are farther from their nearest training"
        " image than that is from others"
    )
    if held_out is None:
        return Finding("authenticity", found.share, SHARE, HIGHER, f"{told}.", found.standard_error)
    chance = p_fewer(found, held_out)
    told += f", and {format_percent(held_out.share)} of fresh photographs"
    fewer = (
        f" ({format_p_value(chance)}): some are versions of training images."
        if chance < SIGNIFICANCE_LEVEL
        else ": no fewer."
    )
    return Finding("authenticity", found.share, SHARE, HIGHER, told + fewer, found.standard_error, chance)


def inception_score_finding(found: InceptionScore) -> Finding:
    """The Inception score."""
    error = found.standard_error
    doubt = "" if error is None else f" ± {error:.2g} ({found.splits} splits)"
    sentence = f"The Inception score is {found.mean:.2f}{doubt}; it looks at no real image."
    return Finding("inception_score", found.mean, CLASSES, HIGHER, sentence, error)


def fid_finding(fid: float, error: float | None) -> Finding:
    """The FID that the entry is ranked by, with its standard error."""
    doubt = (
        " (there are too few images for a standard error)"
        if error is None
        else f" ± {error:.2g} over the choice of images"
    )
    sentence = f"FID is {fid:.2f}{doubt}."
    return Finding("fid", fid, FID, LOWER, sentence, error)


def fid_infinity_finding(found: FidInfinity | None, fid: float) -> Finding:
    """FID-infinity beside the FID, >= 0, of all images."""
    name, unit = "fid_infinity", FID
    if found is None:
        return Finding(name, None, unit, LOWER, "There are too few images to tell what FID would be for more of them.")
    sentence = (
        f"For ever more images of this generator FID would fall from {fid:.2f} to about {found.value:.2f}"
        f" ± {found.standard_error:.2g} (by the draw of parts)."
    )
    return Finding(name, found.value, unit, LOWER, sentence, found.standard_error)
