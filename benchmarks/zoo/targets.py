"""What the zoo is meant to show: networks that were trained until they do what they are meant to, and targets of
detection. Each with what was reached."""

from dataclasses import dataclass
from math import sqrt
from statistics import median

from scipy.optimize import brentq
from scipy.stats import binomtest, norm

from benchmarks.zoo.detection import RULES, opening_of, outcomes_found_by
from benchmarks.zoo.entries import DRAWN, HALF_ALTERED, HONEST, MIXED
from benchmarks.zoo.outcomes import Outcome, Zoo
from scorer.lifecycle import TrackKind

MOST_ERROR = 8.0
"""Grey levels that the images of a network which memorises may be away from the training images."""
MOST_FID = 2.0
"""Times the FID of photographs that an honest network's may be, at equal numbers of images."""
LEAST_FOUND, MOST_FLAGGED, LEAST_RIGHT = 0.8, 1 / 40, 11 / 12

ANY_SIGN = next(rule for rule in RULES if rule.name == "any sign")


@dataclass(frozen=True)
class SpreadOverSeeds:
    """The median, the least and the most over the seeds."""

    values: tuple[float, ...]

    def text(self, digits: int) -> str:
        """Such as ``5.2 (4.9 to 6.1)``."""
        numbers = (median(self.values), min(self.values), max(self.values))
        middle, least, most = (f"{number:.{digits}f}" for number in numbers)
        return middle if len(self.values) == 1 else f"{middle} ({least} to {most})"

    def within(self, limit: float) -> str:
        kept = sum(value <= limit for value in self.values)
        return "met" if kept == len(self.values) else f"**missed** by {len(self.values) - kept} of {len(self.values)}"


def training_errors(zoo: Zoo) -> dict[str, tuple[SpreadOverSeeds, SpreadOverSeeds]]:
    """Of each network that draws training images again: the root mean square and the mean of its errors, by seed."""
    by_method = {method: [each.error for each in zoo.of(method) if each.error is not None] for method in DRAWN}
    return {
        method: (
            SpreadOverSeeds(tuple(error.root_mean_square for error in errors)),
            SpreadOverSeeds(tuple(error.mean for error in errors)),
        )
        for method, errors in by_method.items()
        if errors
    }


def fid_multiples(zoo: Zoo, method: str, track: TrackKind) -> SpreadOverSeeds:
    """The FID of a method's entries as multiples of that of the photographs of their seed, at equal numbers of images.
    Where a seed has several, their median."""
    photographs = {each.title.seed: each.readings[track].fid_of_fewer for each in zoo.of("photographs")}
    by_seed: dict[int, list[float]] = {}
    for each in zoo.of(method):
        multiple = each.readings[track].fid_of_fewer / photographs[each.title.seed]
        by_seed.setdefault(each.title.seed, []).append(multiple)
    return SpreadOverSeeds(tuple(median(multiples) for multiples in by_seed.values()))


def photographs_membership(zoo: Zoo, track: TrackKind) -> SpreadOverSeeds:
    """The AUC of membership inference of the photographs that are an entry."""
    readings = [each.readings[track].numbers.get("membership_auc") for each in zoo.of("photographs")]
    return SpreadOverSeeds(tuple(each for each in readings if each is not None))


@dataclass(frozen=True)
class DetectionTarget:
    """A share of the held seeds' entries that should be at least, or at most, a bound."""

    claim: str
    count: int
    total: int
    bound: float
    at_least: bool

    @property
    def verdict(self) -> str:
        """Whether the share is within its bound, and whether its interval is, too."""
        low, high = wilson_interval(self.count, self.total)
        share = self.count / self.total if self.total else float("nan")
        met = share >= self.bound if self.at_least else share <= self.bound
        sure = low >= self.bound if met and self.at_least else high <= self.bound
        if not met:
            sure = high < self.bound if self.at_least else low > self.bound
        return ("met" if met else "**missed**") + ("" if sure else ", not sure")


def detection_targets(held: Zoo) -> list[DetectionTarget]:
    half, flagged = (len(outcomes_found_by(held, ANY_SIGN, *methods)) for methods in ((HALF_ALTERED,), HONEST))
    right = [each for each in held.outcomes if is_opening_right(each)]
    halves, honest, entries = len(held.of(HALF_ALTERED)), len(held.of(*HONEST)), len(held.outcomes)
    sentence = "entries of which the review page's sentence says rightly whether there are copies"
    many, shares = "entries of which it also says how many, within a factor of two", sum(map(is_share_right, right))
    return [
        DetectionTarget("entries half of altered copies that show a sign", half, halves, LEAST_FOUND, True),
        DetectionTarget("honest entries that show a sign", flagged, honest, MOST_FLAGGED, False),
        DetectionTarget(sentence, len(right), entries, LEAST_RIGHT, True),
        DetectionTarget(many, shares, entries, LEAST_RIGHT, True),
    ]


def is_opening_right(outcome: Outcome) -> bool:
    """Whether the review page's first sentence says that there are copies in an entry with copies, and does not speak
    of training images in an honest one."""
    verdict = opening_of(outcome).verdict
    return verdict in {"repetition", "none"} if outcome.title.method in HONEST else verdict == "copies"


def is_share_right(outcome: Outcome) -> bool:
    """Whether the review page's first sentence says a share of copies between half of the true one and twice that."""
    method, said = outcome.title.method, opening_of(outcome).share or 0.0
    true = 0.0 if method in HONEST else MIXED.get(method, 1.0)
    return true / 2 <= said <= 2 * true


_Z = float(norm.isf(0.025))
_NEXT_TO = 1e-12


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) of nothing."""
    if not total:
        return 0.0, 1.0
    interval = binomtest(count, total).proportion_ci(0.95, "wilson")
    return float(interval.low), float(interval.high)


def share_with_interval(count: int, total: int) -> str:
    """A count of a total with Wilson's interval, as text."""
    low, high = wilson_interval(count, total)
    return f"{count}/{total} ({low:.0%} to {high:.0%})"


def auc_interval(auc: float, positives: int, negatives: int) -> tuple[float, float]:
    """The 95 % interval of an AUC between so many entries of two kinds: method 5 of Newcombe 2006, which like Wilson's
    takes the standard error at the limit and not at the estimate, so that it is not empty at 0 and 1."""
    return _lower_limit(auc, positives, negatives), 1.0 - _lower_limit(1.0 - auc, negatives, positives)


def _lower_limit(auc: float, positives: int, negatives: int) -> float:
    if auc <= _NEXT_TO:
        return 0.0
    others = (positives + negatives) / 2 - 1

    def beyond(limit: float) -> float:
        clusters = 1 + others * ((1 - limit) / (2 - limit) + limit / (1 + limit))
        error = sqrt(limit * (1 - limit) * clusters / (positives * negatives))
        return auc - limit - _Z * error

    return float(brentq(beyond, 0.0, auc - _NEXT_TO))
