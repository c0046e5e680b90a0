"""Findings on whether a generator made an entry's images, and the sentence for the verdict."""

from collections.abc import Iterator

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.metrics.copying.generator_match import GeneratorMatch
from scorer.metrics.sample_quality.two_sample import TwoSample


def match_sentence(match: GeneratorMatch) -> str:
    if match.verdict == "inconclusive":
        return "The search does not find the generator's own images, so it says nothing about the entry's images."
    if match.verdict == "another-generator":
        return f"{_reach(match)}. Another generator produced this entry, or some of its images were changed later."
    if match.verdict == "other-distribution":
        return (
            f"{_reach(match)}. But newly drawn images differ from the entry's ({_chance(match.features)}): the entry's"
            " images were selected, were not drawn as declared, or come from a similar generator."
        )
    return f"{_reach(match)}. Nothing suggests that another generator produced the entry's images. {_limits(match)}"


def match_findings(match: GeneratorMatch) -> Iterator[Finding]:
    yield Finding(
        "generator_match",
        match.entry.verbatim,
        SHARE,
        HIGHER,
        f"{_reach(match)}. {_limits(match)}",
        standard_error=match.entry.verbatim_error,
        p_value=match.p_value,
        error_kind="sampling",
    )
    features = match.features
    if features is not None:
        share = features.both
        ability = "can" if share.p_above < SIGNIFICANCE_LEVEL else "cannot"
        yield Finding(
            "generator_features",
            share.share,
            "accuracy",
            LOWER,
            f"{features.count} newly drawn images {ability} be distinguished from the same number of the entry's"
            f" images: for {format_percent(share.share)} of both, the nearest image is of the same kind;"
            f" {format_percent(share.expected)} would be expected by chance ({_chance(features)}).",
            standard_error=share.deviation,
            p_value=share.p_above,
            error_kind="null",
        )


def _reach(match: GeneratorMatch) -> str:
    return (
        f"The search finds {format_percent(match.entry.verbatim)} of {match.entry.count} images of the entry verbatim"
        f" (with at least 95 % certainty, {format_percent(match.low)} to {format_percent(match.high)}) and"
        f" {format_percent(match.generated.verbatim)} of the generator's own images ({format_p_value(match.p_value)})"
    )


def _limits(match: GeneratorMatch) -> str:
    """The sentence on the smallest share of images from elsewhere that the test would show."""
    if match.detectable.with_80 is None:
        return (
            f"But it also finds {format_percent(match.held_out.verbatim)} of held-out images, so finding the entry's"
            " images says little."
        )
    share = format_percent(match.detectable.with_80)
    return f"If {share} of the entry's images came from elsewhere, the test would detect it with 80 % probability."


def _chance(features: TwoSample | None) -> str:
    return "" if features is None else format_p_value(features.both.p_above)
