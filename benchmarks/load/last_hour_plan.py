"""The last hour's plan: which team submits when and how, from a seed, and the measured time of networks."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.load.participants import shuffled_ways

NETWORK_SECONDS: Mapping[str, tuple[float, float]] = {"public": (63.2, 68.3), "private": (171.7, 185.5)}
"""The shortest and the longest time for 10,000 images, by track.

Measured with efficientnet_lite0 and efficientnet_lite2 on two cores of the Intel Xeon of 2026-11-27. TRACKS.md has the
sum of both tracks. The public track's part is its share at 1,000 images, and the spread is that of its rounds there
(SCORING.md).
"""
SERVICE_SECONDS = "KENNEL_LOAD_SECONDS"
"""The environment variable with the workers' time per score.

It is JSON with the shortest and the longest time in seconds, by kind of track.
"""
ENTRIES = ((1, 0.5), (2, 0.3), (3, 0.2))
"""Entries that a team submits during the hour, and the share of teams that submit this many."""
LATE_SHARE = 0.02
"""The share of attempts that come up to two minutes after the deadline."""
LATE_SECONDS = 120.0
FAULTY_SHARE = 0.03
"""The share of zips with images of a wrong size, which only the deep check finds."""


@dataclass(frozen=True)
class Attempt:
    team: int
    number: int
    at: float
    """Seconds of the played hour. After its end, the service must refuse the attempt."""
    way: str
    faulty: bool


def draw_attempts(teams: int, hour: float, seed: int) -> list[Attempt]:
    """The attempts of the hour in order.

    The rate is an assumption, because that of 2019 was not published. At the share u of the hour it is 1 + 4 u^2: at
    the end, it is five times the initial rate.
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
