"""The last hour's plan: which team hands in when and how, from a seed; how long networks take, from measurements."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.harness.results import BenchmarkCase, read_result
from benchmarks.load.participants import shuffled_ways

RESULTS = Path(__file__).parents[1] / "results"
SERVICE_SECONDS = "KENNEL_LOAD_SECONDS"
"""The environment variable that tells workers how long scores take: JSON with the shortest and the longest time in
seconds, by kind of track."""
ENTRIES = ((1, 0.5), (2, 0.3), (3, 0.2))
"""How many entries a team hands in during the hour, and the share of teams that do."""
LATE_SHARE = 0.02
"""Of the attempts, those that come up to two minutes after the close."""
LATE_SECONDS = 120.0
FAULTY_SHARE = 0.03
"""Of the zips, those with an image of a wrong size, which only the deep check finds."""


@dataclass(frozen=True)
class Attempt:
    """A team's wish to hand in one entry."""

    team: int
    number: int
    at: float
    """Seconds of the hour that is played; after its end it must be refused."""
    way: str
    faulty: bool


def attempts_of(teams: int, hour: float, seed: int) -> list[Attempt]:
    """The attempts of the hour in order. How the teams of 2019 spread theirs over the last day was not published, so
    the rate is an assumption: 1 + 4 u^2 at the share u of the hour, five times as high at the end as at the beginning.
    """
    source = random.Random(seed)
    counts = source.choices([count for count, _ in ENTRIES], [share for _, share in ENTRIES], k=teams)
    ways = iter(shuffled_ways(sum(counts), source))
    attempts = [
        Attempt(team, number, at, next(ways), source.random() < FAULTY_SHARE)
        for team, count in enumerate(counts)
        for number, at in enumerate(sorted(_moment(source, hour) for _ in range(count)))
    ]
    return sorted(attempts, key=lambda attempt: attempt.at)


def _moment(source: random.Random, hour: float) -> float:
    if source.random() < LATE_SHARE:
        return hour * (1 + source.uniform(0, LATE_SECONDS / 3600))
    while True:
        share = source.random()
        if source.uniform(0, 5) < 1 + 4 * share**2:
            return share * hour


def network_seconds() -> dict[str, tuple[float, float]]:
    """The shortest and longest time in seconds for 10,000 images on each track, as stored results have it.

    Both tracks together were measured at that size once; the public network's part is its share at 1,000 images, and
    the spread that of its rounds there.
    """
    both = {count: _runs("tracks", str(count), "Kennel")[0]["seconds"] for count in (1000, 10_000)}
    public = [run["seconds"] for run in _runs("scoring", "efficientnet_lite0", "Kennel")]
    share = median(public) / both[1000]
    low, high = min(public) / median(public), max(public) / median(public)
    seconds = {"public": both[10_000] * share, "private": both[10_000] * (1 - share)}
    return {kind: (value * low, value * high) for kind, value in seconds.items()}


def _runs(measurement: str, case_name: str, contender: str) -> Sequence[dict[str, float]]:
    result = read_result(measurement, RESULTS)
    case: BenchmarkCase | None = result.case(case_name) if result is not None else None
    if case is None:
        raise LookupError(f"there is no result of {measurement}, {case_name}: run `make bench`")
    return case.runs[contender]
