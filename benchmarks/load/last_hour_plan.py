"""The last hour's plan: which team hands in when and how, from a seed; how long networks take, as was measured."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.load.participants import shuffled_ways

NETWORK_SECONDS: Mapping[str, tuple[float, float]] = {"public": (63.2, 68.3), "private": (171.7, 185.5)}
"""The shortest and the longest time for 10,000 images by track, with efficientnet_lite0 and efficientnet_lite2 on two
cores of the Intel Xeon of 2026-11-27: both tracks together as TRACKS.md has them; the public one's part is its share at
1,000 images, and the spread that of its rounds there (SCORING.md)."""
SERVICE_SECONDS = "KENNEL_LOAD_SECONDS"
"""The environment variable that tells workers how long scores take: JSON with the shortest and the longest time in
seconds, by kind of track."""
ENTRIES = ((1, 0.5), (2, 0.3), (3, 0.2))
"""How many entries a team hands in during the hour, and the share of teams that do."""
LATE_SHARE = 0.02
"""Of the attempts, those that come up to two minutes after the close."""
LATE_SECONDS = 120.0
FAULTY_SHARE = 0.03
"""Of the zips, those with images of a wrong size, which only the deep check finds."""


@dataclass(frozen=True)
class Attempt:
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
