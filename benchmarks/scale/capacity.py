"""``python -m benchmarks.scale.capacity``: the tables of docs/how-to/plan-capacity.md, from ``capacity.toml``.

The number of GPUs comes from a model of the queue with rates alone. Hour by hour, public scores precede private ones,
and unfinished scores wait. SCALE.md compares it with the simulation of every entry.
"""

import itertools
import tomllib
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.isolation import ROOT
from benchmarks.harness.report import render_markdown, write_page
from benchmarks.scale.arrivals import DAYS, HOUR, entries_by_hour

PAGE = ROOT / "docs" / "how-to" / "plan-capacity.md"
ASSUMED: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("capacity.toml").read_text())
COMPETITIONS = (10, 100, 1000)


class Waits(NamedTuple):
    """The longest wait for a public score, and the time from the last hour until all private ones exist; seconds."""

    public: float
    private: float


def waits(entries: NDArray[np.float64], workers: int, public: float, *, private: float) -> Waits:
    """The waits for the ``entries`` of each hour, if ``workers`` need these seconds for each track's score."""
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


def arrivals(competitions: int, *, evenly: bool) -> NDArray[np.float64]:
    """Entries in each hour of two months (1440,). Competitions close evenly over these months, or all on one day."""
    one = entries_by_hour()
    if not evenly:
        return competitions * one
    shifted = (np.roll(one, round(number * len(one) / competitions)) for number in range(competitions))
    return sum(shifted, start=np.zeros_like(one))


def needed_gpus(entries: NDArray[np.float64], assumed: Mapping[str, Any] = ASSUMED) -> tuple[int, Waits]:
    """The smallest number of GPUs that keeps the promises, and its waits."""
    cost, wanted = assumed["entry"], assumed["wanted"]
    busy = float(entries.sum()) * (cost["public"] + cost["private"]) / (len(entries) * HOUR)
    for gpus in itertools.count(max(1, ceil(busy / wanted["gpu_busy_share"]))):
        found = waits(entries, gpus, cost["public"], private=cost["private"])
        if found.public <= 60 * wanted["longest_wait_minutes"] and found.private <= HOUR * wanted["final_hours"]:
            return gpus, found
    raise AssertionError


def compute_needs(competitions: int, *, evenly: bool, assumed: Mapping[str, Any] = ASSUMED) -> dict[str, str]:
    cost, entries = assumed["entry"], arrivals(competitions, evenly=evenly)
    total, fullest = float(entries.sum()), float(entries.max())
    gpus, found = needed_gpus(entries, assumed)
    rush = fullest / HOUR / assumed["wanted"]["busy_share"]
    seconds, hours = cost["public"] + cost["private"], DAYS * 24
    cores = {
        "cores for checks and scores": ceil(gpus * cost["host"] / seconds),
        "cores for evidence": ceil(total * cost["evidence"] / (hours * HOUR)),
        "cores for web": ceil(rush * cost["web"]),
        "cores for the database": ceil(rush * cost["database"]),
    }
    database_gb, object_gb = total * cost["database_bytes"] / 1e9, total * assumed["zip_megabytes"] / 1e3
    return {
        "entries": f"{total:,.0f}",
        "entries in the busiest hour": f"{fullest:,.0f}",
        "**GPUs**": f"**{gpus:,}**",
        "longest wait for a public score, min": f"{found.public / 60:.1f}",
        "last private score after the end, h": f"{found.private / HOUR:.1f}",
        **{name: f"{number:,}" for name, number in cores.items()},
        "uploads in the busiest hour, Mbit/s": f"{fullest * assumed['zip_megabytes'] * 8 / HOUR:,.0f}",
        "database, GB": f"{database_gb:,.1f}",
        "zips, TB": f"{object_gb / 1e3:,.1f}",
    }


def parts() -> dict[str, str]:
    header = ("", *(f"{competitions:,} competitions" for competitions in COMPETITIONS))
    even, on_one_day = ([compute_needs(count, evenly=evenly) for count in COMPETITIONS] for evenly in (True, False))
    differing = [row for row in even[0] if any(a[row] != b[row] for a, b in zip(even, on_one_day, strict=True))]
    return {
        name: "\n".join(render_markdown(header, [(row, *(need[row] for need in needs)) for row in rows]))
        for name, needs, rows in (("months", even, list(even[0])), ("day", on_one_day, differing))
    }


if __name__ == "__main__":
    write_page(PAGE, parts())
