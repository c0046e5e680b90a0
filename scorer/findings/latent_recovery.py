"""Findings of latent recovery: gap, Kolmogorov-Smirnov test, errors of each kind of target, controls."""

from collections.abc import Iterator, Mapping

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.findings.recovery_power import MemorisationPower
from scorer.metrics.copying.latent_recovery import (
    MIN_GAP,
    MIN_SHARE_FOUND,
    ErrorSummary,
    KolmogorovSmirnov,
    RecoveryComparisons,
    RecoveryTest,
    needed_statistic,
    summary_of,
)
from scorer.metrics.features import Vector
from scorer.metrics.statistics.sign_test import SignTest, sign_test

SQUARED = "mean squared error, pixels in -1..1"
NEAR = " near to the entry"
KIND_PHRASES = {
    "train": "training images",
    "held_out": "held-out images",
    "near_train": f"training images{NEAR}",
    "near_held_out": f"held-out images{NEAR}",
    "generated": "images of its own",
    "entry": "images of the entry",
}
DISTORTION_PHRASES = {"warp": "warped", "patches": "partly covered", "noise": "noisy"}


def recovery_sentence(comparisons: RecoveryComparisons, likeness: KolmogorovSmirnov, power: MemorisationPower) -> str:
    """The sentence for the verdict of the tests: about the one that decides. ``power`` is told where nothing is
    found."""
    result = comparisons.deciding
    gap = result.gap
    own_images = result.generated
    if own_images is not None and not result.conclusive:
        return (
            f"Of {own_images.count} images that the generator itself made only {format_percent(own_images.verbatim)}"
            f" were found again, and {format_percent(MIN_SHARE_FOUND)} are needed: the search failed,"
            " so nothing can be said of copying."
        )
    if gap is None:
        return "The generator makes held-out images without any error, so training images can't be made better."
    near = " that the entry is near to" if result is comparisons.near else ""
    compared = f"Half of the training images{near} are made with an error {format_percent(abs(gap))}"
    compared += f" {'smaller' if gap >= 0 else 'larger'} than half of the held-out ones{near}"
    chance = format_p_value(comparisons.p_value)
    if comparisons.verdict == "copies":
        doubt = (
            ". But the held-out images are of another kind, which may be a part of it." if _differs(likeness) else "."
        )
        return f"{compared}, and not by chance ({chance}): the generator remembers what it was trained on{doubt}"
    if comparisons.p_value < SIGNIFICANCE_LEVEL and gap > 0:
        return f"{compared}, hardly by chance ({chance}), but less than the {format_percent(MIN_GAP)} that counts."
    if comparisons.p_value < SIGNIFICANCE_LEVEL:
        return f"{compared} ({chance}): the two kinds differ, and it is not that training images are remembered."
    nothing = f"no sign that training images are remembered; {power.phrase}"
    return f"{compared}, which may be chance ({chance}): {nothing}."


def recovery_findings(
    comparisons: RecoveryComparisons,
    errors: Mapping[str, Vector],
    distorted: Mapping[str, Vector],
    *,
    likeness: KolmogorovSmirnov,
) -> list[Finding]:
    """All findings, in a fixed order."""
    summaries = {kind: summary_of(errors[kind]) for kind in KIND_PHRASES if kind in errors}
    near = comparisons.near
    return [
        _gap(comparisons.random),
        _test(comparisons.random, comparisons.count),
        *(() if near is None else (_gap(near, near=True), _test(near, comparisons.count, near=True))),
        *(_median(kind, summary) for kind, summary in summaries.items()),
        *(_share(kind, summary) for kind, summary in summaries.items()),
        _likeness(likeness),
        *_distortions(errors, distorted),
    ]


def _gap(result: RecoveryTest, *, near: bool = False) -> Finding:
    name, which = ("recovery_near_gap", NEAR) if near else ("recovery_gap", "")
    direction = "0 is best; above 0 is copying"
    unit = "share of the held-out images' error"
    if result.gap is None:
        sentence = "Held-out images are made without any error, so there is no gap."
        return Finding(name, None, unit, direction, sentence)
    within = "too few targets for an interval"
    if result.gap_low is not None and result.gap_high is not None:
        within = f"with at least 95 % certainty between {result.gap_low:+.3f} and {result.gap_high:+.3f}"
    sentence = (
        f"The median error is {result.train.median:.3g} on training and {result.held_out.median:.3g} on held-out"
        f" images{which}: a gap of {result.gap:+.3f} ({within}); above {MIN_GAP:+.1f} it counts."
    )
    return Finding(name, result.gap, unit, direction, sentence, p_value=result.test.p_value)


def _test(result: RecoveryTest, tests: int, *, near: bool = False) -> Finding:
    test, train, held_out = result.test, result.train.count, result.held_out.count
    name, which = ("recovery_near_ks", NEAR) if near else ("recovery_ks", "")
    side = "more" if test.training_is_smaller else "fewer"
    needed = needed_statistic(train, held_out, SIGNIFICANCE_LEVEL / tests)
    able = "no difference could be shown with so few" if needed is None else f"from {needed:.2f} on it counts"
    sentence = (
        f"At one error, {format_percent(test.statistic)} {side} of the {train} training images{which} than of the"
        f" {held_out} held-out ones are below it ({format_p_value(test.p_value)}; {able});"
        f" that training errors are the smaller ones has {format_p_value(test.p_smaller)}."
    )
    return Finding(name, test.statistic, "difference of shares", LOWER, sentence, p_value=test.p_value)


def _median(kind: str, summary: ErrorSummary) -> Finding:
    what = KIND_PHRASES[kind]
    direction = "far below that of held-out images is copying" if kind.endswith("train") else LOWER
    sentence = f"Of {summary.count} {what} half are made with an error below {summary.median:.3g}."
    name = f"recovery_{kind}"
    return Finding(name, summary.median, SQUARED, direction, sentence, summary.median_error, error_kind="sampling")


def _share(kind: str, summary: ErrorSummary) -> Finding:
    sentence = (
        f"{format_percent(summary.verbatim)} of {summary.count} {KIND_PHRASES[kind]} are found verbatim"
        f" and {format_percent(summary.plausible)} plausibly."
    )
    direction = "far above that of held-out images is copying" if kind.endswith("train") else HIGHER
    name = f"recovery_{kind}_verbatim"
    return Finding(name, summary.verbatim, SHARE, direction, sentence, summary.verbatim_error, error_kind="sampling")


def _likeness(test: KolmogorovSmirnov) -> Finding:
    comparison = "Training and held-out images are equally rough, as far as can be told"
    if _differs(test):
        rougher = "rougher" if test.training_is_smaller else "smoother"
        comparison = f"The held-out images are {rougher} than the training images, which alone makes errors differ"
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
