"""What the zoo is meant to show: networks that were trained until they do what they are meant to, and targets of
detection. Each with what was reached."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.zoo.detection import RULES, opening_of, outcomes_found_by
from benchmarks.zoo.entries import DRAWN, HALF_ALTERED, HONEST, HONEST_NETWORKS, MIXED
from benchmarks.zoo.intervals import wilson_interval
from benchmarks.zoo.outcomes import Outcome, Zoo
from scorer.lifecycle import TRACK_KINDS, TrackKind

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
        """Whether all seeds keep a limit."""
        kept = sum(value <= limit for value in self.values)
        return "met" if kept == len(self.values) else f"**missed** by {len(self.values) - kept} of {len(self.values)}"


def training_errors(zoo: Zoo) -> dict[str, tuple[SpreadOverSeeds, SpreadOverSeeds]]:
    """Of each network that draws training images again: the root mean square and the mean of its errors, by seed."""
    found = {}
    for method in DRAWN:
        errors = [each.error for each in zoo.of(method) if each.error is not None]
        if errors:
            found[method] = (
                SpreadOverSeeds(tuple(each.root_mean_square for each in errors)),
                SpreadOverSeeds(tuple(each.mean for each in errors)),
            )
    return found


def fid_multiples(zoo: Zoo, method: str, track: TrackKind) -> SpreadOverSeeds:
    """The FID of a method's entries as multiples of that of the photographs of their seed, at equal numbers of images.
    Where a seed has several, their median."""
    photographs = {each.title.seed: each.readings[track].fid_of_fewer for each in zoo.of("photographs")}
    by_seed: dict[int, list[float]] = {}
    for each in zoo.of(method):
        seed = each.title.seed
        by_seed.setdefault(seed, []).append(each.readings[track].fid_of_fewer / photographs[seed])
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
    """The targets of detection, on the held seeds alone."""
    half, flagged = outcomes_found_by(held, ANY_SIGN, HALF_ALTERED), outcomes_found_by(held, ANY_SIGN, *HONEST)
    right = [each for each in held.outcomes if is_opening_right(each)]
    return [
        DetectionTarget(
            "entries half of altered copies that show a sign", len(half), len(held.of(HALF_ALTERED)), LEAST_FOUND, True
        ),
        DetectionTarget("honest entries that show a sign", len(flagged), len(held.of(*HONEST)), MOST_FLAGGED, False),
        DetectionTarget(
            "entries of which the desk's sentence says rightly whether there are copies",
            *(len(right), len(held.outcomes), LEAST_RIGHT, True),
        ),
        DetectionTarget(
            "entries of which it also says how many, within a factor of two",
            *(sum(map(is_share_right, right)), len(held.outcomes), LEAST_RIGHT, True),
        ),
    ]


def is_opening_right(outcome: Outcome) -> bool:
    """Whether the desk's first sentence says that there are copies in an entry with copies, and does not speak of
    training images in an honest one."""
    verdict = opening_of(outcome).verdict
    return verdict in {"repetition", "none"} if outcome.title.method in HONEST else verdict == "copies"


def share_of_copies(outcome: Outcome) -> float:
    """The share of an entry's images that are copies, as it was made."""
    method = outcome.title.method
    return 0.0 if method in HONEST else MIXED.get(method, 1.0)


def is_share_right(outcome: Outcome) -> bool:
    """Whether the desk's first sentence says a share of copies between half of the true one and twice that."""
    said, true = opening_of(outcome).share or 0.0, share_of_copies(outcome)
    return true / 2 <= said <= 2 * true


def honest_networks(zoo: Zoo) -> Sequence[str]:
    """The honest networks that have entries."""
    return [method for method in HONEST_NETWORKS if zoo.of(method)]


def multiples_by_track(zoo: Zoo, method: str) -> dict[TrackKind, SpreadOverSeeds]:
    """:func:`fid_multiples` of both tracks."""
    return {track: fid_multiples(zoo, method, track) for track in TRACK_KINDS}
