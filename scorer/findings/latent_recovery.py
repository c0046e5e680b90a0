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
NEAR = " near the entry"
KIND_PHRASES = {
    "train": "training images",
    "held_out": "held-out images",
    "near_train": f"training images{NEAR}",
    "near_held_out": f"held-out images{NEAR}",
    "generated": "images produced by the generator",
    "entry": "images of the entry",
}
DISTORTION_PHRASES = {"warp": "warped", "patches": "partly covered", "noise": "noisy"}


def recovery_sentence(comparisons: RecoveryComparisons, likeness: KolmogorovSmirnov, power: MemorisationPower) -> str:
    """The sentence for the verdict: about the test that decides, with ``power`` where nothing is found."""
    result = comparisons.deciding
    gap = result.gap
    own_images = result.generated
    if own_images is not None and not result.conclusive:
        return (
            f"Of {own_images.count} images that the generator produced, the search found only"
            f" {format_percent(own_images.verbatim)}; at least {format_percent(MIN_SHARE_FOUND)} are needed. The search"
            " failed, so this audit says nothing about copying."
        )
    if gap is None:
        return "The generator reproduces held-out images without error, so it cannot reproduce training images better."
    near = NEAR if result is comparisons.near else ""
    compared = f"The median error of training images{near} is {format_percent(abs(gap))}"
    compared += f" {'smaller' if gap >= 0 else 'larger'} than that of held-out images{near}"
    chance = format_p_value(comparisons.p_value)
    if comparisons.verdict == "copies":
        doubt = (
            " But the held-out images are of another kind, which may explain part of the difference."
            if _differs(likeness)
            else ""
        )
        return (
            f"{compared}, which chance does not explain ({chance}). The generator memorises its training images.{doubt}"
        )
    if comparisons.p_value < SIGNIFICANCE_LEVEL and gap > 0:
        counts = f"only a gap above {format_percent(MIN_GAP)} counts"
        return f"{compared}. This is unlikely to be chance ({chance}), but {counts}."
    if comparisons.p_value < SIGNIFICANCE_LEVEL:
        return f"{compared} ({chance}). The two kinds differ, but this is no sign of memorization."
    return f"{compared}, which may be chance ({chance}). There is no sign of memorization. {power.sentence}"


def recovery_findings(
    comparisons: RecoveryComparisons,
    errors: Mapping[str, Vector],
    distorted: Mapping[str, Vector],
    *,
    likeness: KolmogorovSmirnov,
) -> list[Finding]:
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
    direction = "0 is best; above 0 indicates copying"
    unit = "share of the held-out images' error"
    if result.gap is None:
        sentence = "The generator reproduces held-out images without any error, so there is no gap."
        return Finding(name, None, unit, direction, sentence)
    within = "too few targets for an interval"
    if result.gap_low is not None and result.gap_high is not None:
        within = f"with at least 95 % certainty between {result.gap_low:+.3f} and {result.gap_high:+.3f}"
    sentence = (
        f"The median error is {result.train.median:.3g} for training images and {result.held_out.median:.3g} for"
        f" held-out images{which}. The gap is {result.gap:+.3f} ({within}); a gap above {MIN_GAP:+.1f} counts."
    )
    return Finding(name, result.gap, unit, direction, sentence, p_value=result.test.p_value)


def _test(result: RecoveryTest, tests: int, *, near: bool = False) -> Finding:
    test, train, held_out = result.test, result.train.count, result.held_out.count
    name, which = ("recovery_near_ks", NEAR) if near else ("recovery_ks", "")
    side = "larger" if test.training_is_smaller else "smaller"
    needed = needed_statistic(train, held_out, SIGNIFICANCE_LEVEL / tests)
    able = "too few images to show a difference" if needed is None else f"a difference of {needed:.2f} or more counts"
    sentence = (
        f"The largest difference between the error distributions of {train} training and {held_out} held-out"
        f" images{which} is {test.statistic:.2f}: at that point, a {side} share of the training images has a smaller"
        f" error ({format_p_value(test.p_value)}; {able}). The test for smaller training errors has"
        f" {format_p_value(test.p_smaller)}."
    )
    return Finding(name, test.statistic, "difference of shares", LOWER, sentence, p_value=test.p_value)


def _median(kind: str, summary: ErrorSummary) -> Finding:
    what = KIND_PHRASES[kind]
    direction = "far below that of held-out images indicates copying" if kind.endswith("train") else LOWER
    sentence = f"Half of {summary.count} {what} have an error below {summary.median:.3g}."
    name = f"recovery_{kind}"
    return Finding(name, summary.median, SQUARED, direction, sentence, summary.median_error, error_kind="sampling")


def _share(kind: str, summary: ErrorSummary) -> Finding:
    sentence = (
        f"{format_percent(summary.verbatim)} of {summary.count} {KIND_PHRASES[kind]} are found verbatim"
        f" and {format_percent(summary.plausible)} plausibly."
    )
    direction = "far above that of held-out images indicates copying" if kind.endswith("train") else HIGHER
    name = f"recovery_{kind}_verbatim"
    return Finding(name, summary.verbatim, SHARE, direction, sentence, summary.verbatim_error, error_kind="sampling")


def _likeness(test: KolmogorovSmirnov) -> Finding:
    comparison = "Training and held-out images are equally rough, as far as the test shows"
    if _differs(test):
        rougher = "rougher" if test.training_is_smaller else "smoother"
        comparison = f"Held-out images are {rougher} than training images, which alone makes their errors differ"
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
        f"For {what}, the median error is {test.after:.3g}, compared with {test.before:.3g} for the originals; it is"
        f" larger for {test.increased} of {test.count}"
    )
    if test.p_value < SIGNIFICANCE_LEVEL:
        return f"{comparison} ({format_p_value(test.p_value)}). The generator distinguishes its images from others."
    return f"{comparison}. It reproduces distorted images about as well, so small errors say little."


def _differs(likeness: KolmogorovSmirnov) -> bool:
    return likeness.p_value < SIGNIFICANCE_LEVEL
