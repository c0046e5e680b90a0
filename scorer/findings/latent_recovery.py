"""What latent recovery found, each number with its unit, its direction and a sentence for a person."""

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


def recovery_sentence(found: RecoveryTest, likeness: KolmogorovSmirnov) -> str:
    """The verdict."""
    gap, told = found.gap, found.generated
    if told is not None and not found.conclusive:
        return (
            f"Of {told.count} images that the generator itself made only"
            f" {format_percent(told.verbatim)} were found again, and"
            f" {format_percent(MIN_SHARE_FOUND)} are needed: the search failed, so nothing can be said of copying."
        )
    if gap is None:
        return "The generator makes fresh images without any error, so training images can't be made better."
    compared = f"Half of the training images are made with an error {format_percent(abs(gap))}"
    compared += f" {'smaller' if gap >= 0 else 'larger'} than half of the fresh ones"
    chance = format_p_value(found.test.p_value)
    if found.verdict == "copies":
        doubt = ". But the fresh images are of another kind, which may be a part of it." if _differs(likeness) else "."
        return f"{compared}, and not by chance ({chance}): the generator remembers what it was trained on{doubt}"
    if found.test.p_value < SIGNIFICANCE_LEVEL and gap > 0:
        return f"{compared}, hardly by chance ({chance}), but less than the {format_percent(MIN_GAP)} that counts."
    if found.test.p_value < SIGNIFICANCE_LEVEL:
        return f"{compared} ({chance}): the two kinds differ, and it is not that training images are remembered."
    return f"{compared}, which may be chance ({chance}): no sign that training images are remembered."


def recovery_findings(
    found: RecoveryTest, errors: Mapping[str, Vector], distorted: Mapping[str, Vector], likeness: KolmogorovSmirnov
) -> list[Finding]:
    """All numbers, in a fixed order."""
    summaries = {"train": found.train, "held_out": found.held_out, "generated": found.generated}
    return [
        _gap(found),
        _test(found),
        *(_median(kind, each) for kind, each in summaries.items() if each is not None),
        *(_share(kind, each) for kind, each in summaries.items() if each is not None),
        _likeness(likeness),
        *_distortions(errors, distorted),
    ]


def _gap(found: RecoveryTest) -> Finding:
    direction, unit = "0 is best; above 0 is copying", "share of the fresh images' error"
    if found.gap is None:
        told = "Fresh images are made without any error, so there is no gap."
        return Finding("recovery_gap", None, unit, direction, told)
    within = "too few targets for an interval"
    if found.gap_low is not None and found.gap_high is not None:
        within = f"with 95 % certainty between {found.gap_low:+.3f} and {found.gap_high:+.3f}"
    sentence = (
        f"The median error is {found.train.median:.3g} on training and {found.held_out.median:.3g} on fresh images:"
        f" a gap of {found.gap:+.3f} ({within}); above {MIN_GAP:+.1f} it counts."
    )
    return Finding("recovery_gap", found.gap, unit, direction, sentence, p_value=found.test.p_value)


def _test(found: RecoveryTest) -> Finding:
    test = found.test
    side = "more" if test.training_is_smaller else "fewer"
    able = "no difference could be shown with so few" if test.needed is None else f"from {test.needed:.2f} on it counts"
    sentence = (
        f"At one error, {format_percent(test.statistic)} {side} of the {found.train.count} training images than of the"
        f" {found.held_out.count} fresh ones are below it ({format_p_value(test.p_value)}; {able});"
        " that training errors are"
        f" the smaller ones has {format_p_value(test.p_smaller)}."
    )
    return Finding("recovery_ks", test.statistic, "difference of shares", LOWER, sentence, p_value=test.p_value)


def _median(kind: str, found: ErrorSummary) -> Finding:
    what = KIND_PHRASES[kind]
    direction = LOWER if kind != "train" else "far below that of fresh images is copying"
    sentence = f"Of {found.count} {what} half are made with an error below {found.median:.3g}."
    return Finding(f"recovery_{kind}", found.median, SQUARED, direction, sentence)


def _share(kind: str, found: ErrorSummary) -> Finding:
    sentence = (
        f"{format_percent(found.verbatim)} of {found.count} {KIND_PHRASES[kind]} are found verbatim"
        f" and {format_percent(found.plausible)}"
        f" plausibly."
    )
    direction = "far above that of fresh images is copying" if kind == "train" else HIGHER
    return Finding(f"recovery_{kind}_verbatim", found.verbatim, SHARE, direction, sentence, found.verbatim_error)


def _likeness(found: KolmogorovSmirnov) -> Finding:
    told = "Training and fresh images are equally rough, as far as can be told"
    if _differs(found):
        rougher = "rougher" if found.training_is_smaller else "smoother"
        told = f"The fresh images are {rougher} than the training images, which alone makes errors differ"
    sentence = f"{told} ({format_p_value(found.p_value)})."
    return Finding("recovery_likeness", found.statistic, "difference of shares", LOWER, sentence, p_value=found.p_value)


def _distortions(errors: Mapping[str, Vector], distorted: Mapping[str, Vector]) -> Iterator[Finding]:
    for name, values in distorted.items():
        how, kind = name.split("_", maxsplit=1)
        found = sign_test(errors[kind][: len(values)], values)
        yield Finding(
            f"recovery_{name}",
            summary_of(values).median,
            SQUARED,
            "higher is more specific",
            _specific(found, f"{DISTORTION_PHRASES[how]} {KIND_PHRASES[kind]}"),
            p_value=found.p_value,
        )


def _specific(found: SignTest, what: str) -> str:
    told = (
        f"With {what} the median error is {found.after:.3g} instead of {found.before:.3g}, and larger for"
        f" {found.increased} of {found.count}"
    )
    if found.p_value < SIGNIFICANCE_LEVEL:
        return f"{told} ({format_p_value(found.p_value)}): the generator knows its images from others."
    return f"{told}: it makes distorted images about as well, so small errors say little."


def _differs(likeness: KolmogorovSmirnov) -> bool:
    return likeness.p_value < SIGNIFICANCE_LEVEL
