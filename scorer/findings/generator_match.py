"""Findings of whether a generator is that of an entry, and the sentence that says so with its error."""

from collections.abc import Iterator

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.metrics.copying.generator_match import GeneratorMatch
from scorer.metrics.sample_quality.two_sample import TwoSample


def match_sentence(match: GeneratorMatch) -> str:
    """The sentence for the verdict."""
    if match.verdict == "inconclusive":
        return "The search fails on the generator's own images, so nothing can be said of the entry's."
    if match.verdict == "another-generator":
        return f"{_reach(match)}: it is not the generator of this entry, or not of all its images as they are."
    if match.verdict == "other-distribution":
        return (
            f"{_reach(match)}, but images newly drawn from it differ ({_chance(match.features)}): the entry's were"
            " selected, or drawn otherwise than declared, or it is another generator of the kind."
        )
    return f"{_reach(match)}: nothing says that it is another generator than the entry's. {_limits(match)}"


def match_findings(match: GeneratorMatch) -> Iterator[Finding]:
    """Reach, and the comparison of features if it was made."""
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
        told = "can" if share.p_above < SIGNIFICANCE_LEVEL else "cannot"
        yield Finding(
            "generator_features",
            share.share,
            "accuracy",
            LOWER,
            f"{features.count} newly drawn images {told} be told from as many of the entry: of both together"
            f" {format_percent(share.share)} are nearest to one of their own kind, and {format_percent(share.expected)}"
            f" would be by chance ({_chance(features)}).",
            standard_error=share.deviation,
            p_value=share.p_above,
            error_kind="null",
        )


def _reach(match: GeneratorMatch) -> str:
    return (
        f"Of {match.entry.count} images of the entry the generator makes {format_percent(match.entry.verbatim)} (with"
        f" at least 95 % certainty {format_percent(match.low)} to {format_percent(match.high)}), of its own"
        f" {format_percent(match.generated.verbatim)} ({format_p_value(match.p_value)})"
    )


def _limits(match: GeneratorMatch) -> str:
    """From which share of foreign images on reach tells."""
    if match.detectable.with_80 is None:
        return (
            f"But it makes {format_percent(match.held_out.verbatim)} of held-out images, too, so that it can make the"
            " entry's says little."
        )
    share = format_percent(match.detectable.with_80)
    return f"If {share} of its images came from elsewhere, that would show with 80 % probability."


def _chance(features: TwoSample | None) -> str:
    return "" if features is None else format_p_value(features.both.p_above)
