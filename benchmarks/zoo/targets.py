"""Targets of the zoo, with their results: the quality of the networks, and the detection of their entries."""

from dataclasses import dataclass
from math import sqrt
from statistics import median

from scipy.optimize import brentq
from scipy.stats import binomtest, norm

from benchmarks.zoo.detection import RULES, choose_opening, outcomes_found_by
from benchmarks.zoo.entries import DRAWN, HALF_ALTERED, HONEST, MIXED
from benchmarks.zoo.outcomes import Outcome, Zoo
from scorer.lifecycle import TrackKind

MOST_ERROR = 8.0
"""Largest difference between a memorising network's images and the training images, in grey levels."""
MOST_FID = 2.0
"""Largest FID of an honest network, as a multiple of that of photographs, with equal numbers of images."""
LEAST_FOUND, MOST_FLAGGED, LEAST_RIGHT = 0.8, 1 / 40, 11 / 12

ANY_SIGN = next(rule for rule in RULES if rule.name == "any sign")


@dataclass(frozen=True)
class SpreadOverSeeds:
    """The median, minimum and maximum over the seeds."""

    values: tuple[float, ...]

    def text(self, digits: int) -> str:
        """Text such as ``5.2 (4.9 to 6.1)``."""
        numbers = (median(self.values), min(self.values), max(self.values))
        middle, least, most = (f"{number:.{digits}f}" for number in numbers)
        return middle if len(self.values) == 1 else f"{middle} ({least} to {most})"

    def within(self, limit: float) -> str:
        missed = sum(not value <= limit for value in self.values)
        return f"**missed** by {missed} of {len(self.values)}" if missed else "met"


def training_errors(zoo: Zoo) -> dict[str, tuple[SpreadOverSeeds, SpreadOverSeeds]]:
    """Root mean square and mean errors by seed, for each network that draws training images again."""
    by_method = {method: [outcome.error for outcome in zoo.of(method) if outcome.error is not None] for method in DRAWN}
    return {
        method: (
            SpreadOverSeeds(tuple(error.root_mean_square for error in errors)),
            SpreadOverSeeds(tuple(error.mean for error in errors)),
        )
        for method, errors in by_method.items()
        if errors
    }


def fid_multiples(zoo: Zoo, method: str, track: TrackKind) -> SpreadOverSeeds:
    """The FID of a method's entries as a multiple of their seed's photographs, with equal numbers of images.

    A seed with several entries counts with their median.
    """
    photographs = {entry.title.seed: entry.readings[track].fid_of_fewer for entry in zoo.of("photographs")}
    by_seed: dict[int, list[float]] = {}
    for entry in zoo.of(method):
        multiple = entry.readings[track].fid_of_fewer / photographs[entry.title.seed]
        by_seed.setdefault(entry.title.seed, []).append(multiple)
    return SpreadOverSeeds(tuple(median(multiples) for multiples in by_seed.values()))


def photographs_membership(zoo: Zoo, track: TrackKind) -> SpreadOverSeeds:
    """The AUC of membership inference for the entries of photographs."""
    readings = [entry.readings[track].numbers.get("membership_auc") for entry in zoo.of("photographs")]
    return SpreadOverSeeds(tuple(auc for auc in readings if auc is not None))


@dataclass(frozen=True)
class DetectionTarget:
    """A target for a share of the judged seeds' entries: at least, or at most, a bound."""

    claim: str
    count: int
    total: int
    bound: float
    at_least: bool

    @property
    def verdict(self) -> str:
        """Whether the share is within its bound, and whether its interval confirms this."""
        low, high = wilson_interval(self.count, self.total)
        share = self.count / self.total if self.total else float("nan")
        met = share >= self.bound if self.at_least else share <= self.bound
        sure = low >= self.bound if met and self.at_least else high <= self.bound
        if not met:
            sure = high < self.bound if self.at_least else low > self.bound
        return ("met" if met else "**missed**") + ("" if sure else ", uncertain")


def detection_targets(held: Zoo) -> list[DetectionTarget]:
    half, flagged = (len(outcomes_found_by(held, ANY_SIGN, *methods)) for methods in ((HALF_ALTERED,), HONEST))
    right = [outcome for outcome in held.outcomes if is_opening_right(outcome)]
    halves, honest, entries = len(held.of(HALF_ALTERED)), len(held.of(*HONEST)), len(held.outcomes)
    sentence = "entries whose sentence is right about copies"
    many, shares = (
        "entries whose sentence is also right about the share, within a factor of two",
        sum(map(is_share_right, right)),
    )
    return [
        DetectionTarget("half-altered entries that show a sign", half, halves, LEAST_FOUND, True),
        DetectionTarget("honest entries that show a sign", flagged, honest, MOST_FLAGGED, False),
        DetectionTarget(sentence, len(right), entries, LEAST_RIGHT, True),
        DetectionTarget(many, shares, entries, LEAST_RIGHT, True),
    ]


def is_opening_right(outcome: Outcome) -> bool:
    """Whether the review page's first sentence is right about copies.

    For an entry with copies, it must report them. For an honest one, it must not mention training images.
    """
    verdict = choose_opening(outcome).verdict
    return verdict in {"repetition", "none"} if outcome.title.method in HONEST else verdict == "copies"


def is_share_right(outcome: Outcome) -> bool:
    """Whether the review page's first sentence has a share of copies between half and twice the true one."""
    method, stated = outcome.title.method, choose_opening(outcome).share or 0.0
    true = 0.0 if method in HONEST else MIXED.get(method, 1.0)
    return true / 2 <= stated <= 2 * true


_Z = float(norm.isf(0.025))
_NEXT_TO = 1e-12


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) if ``total`` is 0."""
    if not total:
        return 0.0, 1.0
    interval = binomtest(count, total).proportion_ci(0.95, "wilson")
    return float(interval.low), float(interval.high)


def share_with_interval(count: int, total: int) -> str:
    """Text with a count, a total and Wilson's interval."""
    low, high = wilson_interval(count, total)
    return f"{count}/{total} ({low:.0%} to {high:.0%})"


def auc_interval(auc: float, positives: int, negatives: int) -> tuple[float, float]:
    """The 95 % interval of an AUC between ``positives`` and ``negatives``: method 5 of Newcombe 2006.

    Like Wilson's, it takes the standard error at the limit, not at the estimate, so it is not empty at 0 and 1.
    """
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
