"""Contenders run in turn, round after round, so that whatever the machine does meanwhile happens to all of them."""

import logging
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.isolation import Run, Runner, Task

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Contender:
    """Who takes part: a name for the table, and the function (``module:name``) that is timed.

    ``most`` rounds and no more where one takes minutes.
    """

    name: str
    function: str
    most: int | None = None


@dataclass(frozen=True)
class Spread:
    """Several measurements of one number."""

    median: float
    least: float
    most: float


def interleaved(
    contenders: Sequence[Contender], arguments: Mapping[str, Any], rounds: int, run: Runner
) -> dict[str, list[Run]]:
    """Every contender once per round, by name: its runs in order."""
    runs: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders:
            if contender.most is None or number < contender.most:
                found = run(Task(contender.function, arguments))
                log.info("round %d of %d, %s: %.3f s", number + 1, rounds, contender.name, found["seconds"])
                runs[contender.name].append(found)
    return runs


def spread_of(runs: Sequence[Run], key: str = "seconds") -> Spread:
    """Median, least and most of one number of the runs; ``KeyError`` where a run lacks it."""
    values = [run[key] for run in runs]
    return Spread(statistics.median(values), min(values), max(values))


def median_of(runs: Sequence[Run], key: str = "seconds") -> float:
    """The median of one number of the runs."""
    return spread_of(runs, key).median
