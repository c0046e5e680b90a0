"""Interleaved rounds: contenders run in turn, so that disturbances of the machine affect all of them alike."""

import logging
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.isolation import Run, Runner, Task

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Contender:
    """A timed function (``module:name``) and its name in the table.

    It runs at most ``max_rounds`` rounds, where one takes minutes.
    """

    name: str
    function: str
    max_rounds: int | None = None


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of one number."""

    median: float
    minimum: float
    maximum: float


def interleaved(
    contenders: Sequence[Contender], arguments: Mapping[str, Any], rounds: int, run: Runner
) -> dict[str, list[Run]]:
    """Run every contender once per round; the runs by contender's name, in order."""
    runs: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    for number in range(rounds):
        for contender in contenders:
            if contender.max_rounds is None or number < contender.max_rounds:
                result = run(Task(contender.function, arguments))
                log.info("round %d of %d, %s: %.3f s", number + 1, rounds, contender.name, result["seconds"])
                runs[contender.name].append(result)
    return runs


def spread_of(runs: Sequence[Run], key: str = "seconds") -> Spread:
    """Median, minimum and maximum of one number of the runs; ``KeyError`` if a run lacks it."""
    values = [run[key] for run in runs]
    return Spread(statistics.median(values), min(values), max(values))


def median_of(runs: Sequence[Run], key: str = "seconds") -> float:
    """The median of one number of the runs."""
    return spread_of(runs, key).median
