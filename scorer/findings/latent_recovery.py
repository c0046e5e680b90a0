"""Findings of latent recovery: gap, Kolmogorov-Smirnov test, errors of each kind of target, controls."""

from collections.abc import Iterator, Mapping

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.metrics.copying.latent_recovery import (
    MIN_GAP,
    MIN_SHARE_FOUND,
    ErrorSummary,
    KolmogorovSmirnov,
    RecoveryTest,
    summary_of,
)
from scorer.metrics.features import Vector
from scorer.metrics.statistics.sign_test import SignTest, sign_test

SQUARED = "mean squared error, pixels in -1..1"
KIND_PHRASES = {"train": "training images", "held_out": "fresh images", "generated": "images of its own"}
DISTORTION_PHRASES = {"warp": "warped", "patches": "partly covered", "noise": "noisy"}


def recovery_sentence(result: RecoveryTest, likeness: KolmogorovSmirnov) -> str:
    """The sentence for the verdict of the test."""
    gap = result.gap
    own_images = result.generated
    if own_images is not None and not result.conclusive:
        return (
            f"Of {own_images.count} images that the generator itself made only {format_percent(own_images.verbatim)}"
            f" were found again, and {format_percent(MIN_SHARE_FOUND)} are needed: the search failed,"
            " so nothing can be said of copying."
        )
    if gap is None:
        return "The generator makes fresh images without any error, so training images can't be made better."
    compared = f"Half of the training images are made with an error {format_percent(abs(gap))}"
    compared += f" {'smaller' if gap >= 0 else 'larger'} than half of the fresh ones"
    chance = format_p_value(result.test.p_value)
    if result.verdict == "copies":
        doubt = ". But the fresh images are of another kind, which may be a part of it." if _differs(likeness) else "."
        return f"{compared}, and not by chance ({chance}): the generator remembers what it was trained on{doubt}"
    if result.test.p_value < SIGNIFICANCE_LEVEL and gap > 0:
        return f"{compared}, hardly by chance ({chance}), but less than the {format_percent(MIN_GAP)} that counts."
    if result.test.p_value < SIGNIFICANCE_LEVEL:
        return f"{compared} ({chance}): the two kinds differ, and it is not that training images are remembered."
    return f"{compared}, which may be chance ({chance}): no sign that training images are remembered."


def recovery_findings(
    result: RecoveryTest, errors: Mapping[str, Vector], distorted: Mapping[str, Vector], likeness: KolmogorovSmirnov
) -> list[Finding]:
    """All findings, in a fixed order."""
    summaries = {"train": result.train, "held_out": result.held_out, "generated": result.generated}
    return [
        _gap(result),
        _test(result),
        *(_median(kind, summary) for kind, summary in summaries.items() if summary is not None),
        *(_share(kind, summary) for kind, summary in summaries.items() if summary is not None),
        _likeness(likeness),
        *_distortions(errors, distorted),
    ]


def _gap(result: RecoveryTest) -> Finding:
    direction = "0 is best; above 0 is copying"
    unit = "share of the fresh images' error"
    if result.gap is None:
        sentence = "Fresh images are made without any error, so there is no gap."
        return Finding("recovery_gap", None, unit, direction, sentence)
    within = "too few targets for an interval"
    if result.gap_low is not None and result.gap_high is not None:
        within = f"with 95 % certainty between {result.gap_low:+.3f} and {result.gap_high:+.3f}"
    sentence = (
        f"The median error is {result.train.median:.3g} on training and {result.held_out.median:.3g} on fresh images:"
        f" a gap of {result.gap:+.3f} ({within}); above {MIN_GAP:+.1f} it counts."
    )
    return Finding("recovery_gap", result.gap, unit, direction, sentence, p_value=result.test.p_value)


def _test(result: RecoveryTest) -> Finding:
    test = result.test
    side = "more" if test.training_is_smaller else "fewer"
    able = "no difference could be shown with so few" if test.needed is None else f"from {test.needed:.2f} on it counts"
    sentence = (
        f"At one error, {format_percent(test.statistic)} {side} of the {result.train.count} training images than of the"
        f" {result.held_out.count} fresh ones are below it ({format_p_value(test.p_value)}; {able});"
        f" that training errors are the smaller ones has {format_p_value(test.p_smaller)}."
    )
    return Finding("recovery_ks", test.statistic, "difference of shares", LOWER, sentence, p_value=test.p_value)


def _median(kind: str, summary: ErrorSummary) -> Finding:
    what = KIND_PHRASES[kind]
    direction = LOWER if kind != "train" else "far below that of fresh images is copying"
    sentence = f"Of {summary.count} {what} half are made with an error below {summary.median:.3g}."
    return Finding(f"recovery_{kind}", summary.median, SQUARED, direction, sentence)


def _share(kind: str, summary: ErrorSummary) -> Finding:
    sentence = (
        f"{format_percent(summary.verbatim)} of {summary.count} {KIND_PHRASES[kind]} are found verbatim"
        f" and {format_percent(summary.plausible)} plausibly."
    )
    direction = "far above that of fresh images is copying" if kind == "train" else HIGHER
    name = f"recovery_{kind}_verbatim"
    return Finding(name, summary.verbatim, SHARE, direction, sentence, summary.verbatim_error, error_kind="sampling")


def _likeness(test: KolmogorovSmirnov) -> Finding:
    comparison = "Training and fresh images are equally rough, as far as can be told"
    if _differs(test):
        rougher = "rougher" if test.training_is_smaller else "smoother"
        comparison = f"The fresh images are {rougher} than the training images, which alone makes errors differ"
    sentence = f"{comparison} ({format_p_value(test.p_value)})."
    return Finding("recovery_likeness", test.statistic, "difference of shares", LOWER, sentence, p_value=test.p_value)


def _distortions(errors: Mapping[str, Vector], distorted: Mapping[str, Vector]) -> Iterator[Finding]:
    for name, values in distorted.items():
        how, kind = name.split("_", maxsplit=1)
        test = sign_test(errors[kind][: len(values)], values)
        yield Finding(
            f"recovery_{name}",
            summary_of(values).median,
            SQUARED,
            "higher is more specific",
            _specific(test, f"{DISTORTION_PHRASES[how]} {KIND_PHRASES[kind]}"),
            p_value=test.p_value,
        )


def _specific(test: SignTest, what: str) -> str:
    comparison = (
        f"With {what} the median error is {test.after:.3g} instead of {test.before:.3g}, and larger for"
        f" {test.increased} of {test.count}"
    )
    if test.p_value < SIGNIFICANCE_LEVEL:
        return f"{comparison} ({format_p_value(test.p_value)}): the generator knows its images from others."
    return f"{comparison}: it makes distorted images about as well, so small errors say little."


def _differs(likeness: KolmogorovSmirnov) -> bool:
    return likeness.p_value < SIGNIFICANCE_LEVEL
