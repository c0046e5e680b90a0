"""What so many competitions need: GPUs by a fluid model of the queue, cores and bytes from what an entry costs.

The model knows rates alone: hour by hour, public scores go before private ones, and what is not done waits. The
simulation, which knows every entry, is what it is compared with.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.arrivals import DAYS, HOUR, entries_by_hour

PRICES = Path(__file__).with_name("prices.toml")
Calendar = Literal["one day", "two months"]
"""When competitions close: all on one day, or evenly over two months, again and again."""


@dataclass(frozen=True)
class Wanted:
    """What the operator promises."""

    longest_wait_minutes: float
    final_hours: float
    busy_share: float
    gpu_busy_share: float


@dataclass(frozen=True)
class Prices:
    """The operator's assumptions, as ``prices.toml`` explains them."""

    currency: str
    gpu_hour: float
    core_hour: float
    database_gb_month: float
    object_gb_month: float
    zip_megabytes: float
    kept_months: float
    wanted: Wanted


@dataclass(frozen=True)
class EntryCosts:
    """What an entry costs: seconds of a GPU for each track; processor seconds; bytes of the database."""

    public: float
    private: float
    host: float
    """Of checks and scores, beside the GPU."""
    evidence: float
    web: float
    database: float
    database_bytes: float


@dataclass(frozen=True)
class Need:
    """What so many competitions need."""

    entries: float
    fullest_hour: float
    """Entries in it."""
    gpus: int
    wait_minutes: float
    final_hours: float
    cores: Mapping[str, int]
    """Beside the GPUs, by what they do."""
    megabits: float
    """A second of uploads in the fullest hour."""
    database_gb: float
    object_tb: float
    costs: Mapping[str, float]


def read_prices(path: Path = PRICES) -> Prices:
    """The operator's assumptions."""
    fields = tomllib.loads(path.read_text())
    return Prices(**fields | {"wanted": Wanted(**fields["wanted"])})


def arrivals(competitions: int, calendar: Calendar) -> NDArray[np.float64]:
    """Entries in each hour of two months; (1440,)."""
    one = entries_by_hour()
    if calendar == "one day":
        return competitions * one
    shifted = (np.roll(one, round(number * len(one) / competitions)) for number in range(competitions))
    return sum(shifted, start=np.zeros_like(one))


@dataclass(frozen=True)
class Waits:
    """The longest wait for a public score in seconds, and from the last hour on until all private ones are there."""

    public: float
    private: float


def waits(entries: NDArray[np.float64], workers: int, public: float, private: float) -> Waits:
    """By the fluid model: ``workers`` with so many seconds for each track's score."""
    rate = workers * HOUR
    waiting_public = waiting_private = longest = 0.0
    for count in entries:
        waiting_public += count * public
        waiting_private += count * private
        done = min(waiting_public, rate)
        waiting_public -= done
        waiting_private -= min(waiting_private, rate - done)
        longest = max(longest, waiting_public / workers)
    return Waits(longest + public, (waiting_public + waiting_private) / workers + private)


def needed_gpus(entries: NDArray[np.float64], costs: EntryCosts, wanted: Wanted) -> tuple[int, Waits]:
    """The fewest GPUs that keep what is promised, and the waits with them."""

    def with_gpus(gpus: int) -> Waits:
        return waits(entries, gpus, costs.public, costs.private)

    def keeps(gpus: int) -> bool:
        result = with_gpus(gpus)
        return result.public <= 60 * wanted.longest_wait_minutes and result.private <= HOUR * wanted.final_hours

    busy = float(entries.sum()) * (costs.public + costs.private) / (len(entries) * HOUR)
    gpus = max(_least(keeps), ceil(busy / wanted.gpu_busy_share))
    return gpus, with_gpus(gpus)


def _least(keeps: Callable[[int], bool]) -> int:
    """The least number from 1 on that keeps it, by doubling and halving."""
    high = 1
    while not keeps(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def need_of(competitions: int, calendar: Calendar, costs: EntryCosts, prices: Prices) -> Need:
    """What so many competitions need that close by this calendar."""
    entries = arrivals(competitions, calendar)
    total, fullest = float(entries.sum()), float(entries.max())
    gpus, result = needed_gpus(entries, costs, prices.wanted)
    rush = fullest / HOUR / prices.wanted.busy_share
    cores = {
        "host": ceil(gpus * costs.host / (costs.public + costs.private)),
        "evidence": ceil(total * costs.evidence / (DAYS * 24 * HOUR)),
        "web": ceil(rush * costs.web),
        "database": ceil(rush * costs.database),
    }
    database_gb = total * costs.database_bytes / 1e9
    object_gb = total * prices.zip_megabytes / 1e3
    hours = DAYS * 24
    return Need(
        entries=total,
        fullest_hour=fullest,
        gpus=gpus,
        wait_minutes=result.public / 60,
        final_hours=result.private / HOUR,
        cores=cores,
        megabits=fullest * prices.zip_megabytes * 8 / HOUR,
        database_gb=database_gb,
        object_tb=object_gb / 1e3,
        costs={
            "GPUs, all the time": gpus * hours * prices.gpu_hour,
            "GPUs, while they compute": total * (costs.public + costs.private) / HOUR * prices.gpu_hour,
            "cores": sum(cores.values()) * hours * prices.core_hour,
            "database": database_gb * prices.kept_months * prices.database_gb_month,
            "blob store": object_gb * prices.kept_months * prices.object_gb_month,
        },
    )
