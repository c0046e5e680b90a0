"""When each team submits: the shape of the Generative Dog Images competition of 2019.

The released results have no times, but ids that Kaggle gave to all submissions of all its competitions in order. If
those came evenly, the 1,666 released ids show the times of submission, including the rush of the last days.
"""

import csv
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.isolation import ROOT

RESULTS_2019 = ROOT / "tests" / "data" / "competition_results.csv"
TEAMS, ENTRIES, DAYS, DAILY_LIMIT = 924, 11_192, 60.0, 5
DAY, HOUR = 86_400.0, 3600.0
TEAM_SPREAD = 1.0
"""Standard deviation of the logarithm of teams' diligence. Assumed, because entries per team were not published."""


@dataclass(frozen=True)
class Arrival:
    at: float
    team: int
    number: int


@cache
def load_2019_moments() -> NDArray[np.float64]:
    """The moments of the released entries in order, as shares of the time from the first to the last; (n,)."""
    with RESULTS_2019.open() as file:
        ids = np.sort([int(row["submission_id"]) for row in csv.DictReader(file)]).astype(np.float64)
    moments: NDArray[np.float64] = (ids - ids[0]) / (ids[-1] - ids[0])
    return moments


def entries_by_hour(entries: int = ENTRIES, days: float = DAYS) -> NDArray[np.float64]:
    """Expected entries in each hour of a competition; (24 days,)."""
    shares = load_2019_moments()
    hours = np.linspace(0, 1, round(24 * days) + 1)
    by_then: NDArray[np.float64] = entries * np.interp(hours, shares, np.linspace(0, 1, len(shares)))
    return np.diff(by_then)


def draw_arrivals(teams: int, entries: int, days: float, *, seed: int) -> Sequence[Arrival]:
    """The arrivals in order: at least one per team, and at most ``DAILY_LIMIT`` per team and day."""
    rng, source = np.random.default_rng(seed), random.Random(seed)
    diligence = [source.lognormvariate(0, TEAM_SPREAD) for _ in range(teams)]
    turns = [*range(teams), *source.choices(range(teams), diligence, k=entries - teams)]
    source.shuffle(turns)
    by_day, by_team, arrivals = Counter[tuple[int, int]](), Counter[int](), []
    shares = load_2019_moments()
    moments = np.interp(rng.random(entries), np.linspace(0, 1, len(shares)), shares)  # linear between the released ones
    for moment in np.sort(moments) * days * DAY:
        day = int(moment // DAY)
        place = next((place for place, team in enumerate(turns) if by_day[day, team] < DAILY_LIMIT), None)
        if place is None:  # no team with turns left may submit today, so another team replaces one
            turns[0] = next(team for team in source.sample(range(teams), teams) if by_day[day, team] < DAILY_LIMIT)
        team = turns.pop(place or 0)
        by_day[day, team] += 1
        arrivals.append(Arrival(float(moment), team, by_team[team]))
        by_team[team] += 1
    return arrivals
