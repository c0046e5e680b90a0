"""What a part shows: waits by hour, work of the workers, and what an entry costs the service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.harness.isolation import Run
from benchmarks.harness.processor_time import forked_seconds
from benchmarks.harness.results import BenchmarkResult
from benchmarks.scale.arrivals import DAY, HOUR
from benchmarks.scale.simulation import Played
from benchmarks.scale.worker_pools import Device, busy_share

HOURS = 24
"""The hours of the last day, each of which is told alone."""
BINS = 24
"""Of the whole competition for the figure, shorter and shorter towards the close."""
TIMED = ("upload", "claim", "record", "board", "sweep")

SERVERS = {"web": "uvicorn", "database": "postgres", "queue": "valkey"}
"""By part of the service, what is in the command lines of its processes."""
WEB, OPENING = "web", "opening"
"""The web's own processes; those that it starts, in which it opens uploads."""


@dataclass(frozen=True)
class Costs:
    """What a part has cost: real seconds, processor seconds by server, growth of the database, the machine's load."""

    seconds: float
    processors: Mapping[str, float]
    database_bytes: float
    load: float


def run_of(result: BenchmarkResult) -> Run:
    """The numbers of a stored result's one run."""
    (case,) = result.cases
    (run,) = case.runs["Kennel"]
    return dict(run)


def processor_seconds() -> Mapping[str, float]:
    """Processor seconds so far of the processes of each server, those that have ended included, and apart from the
    web's own those of processes that it has started, or had forked, and that have ended."""
    seconds = dict.fromkeys((*SERVERS, OPENING), 0.0)
    for process in psutil.Process().children(recursive=True):
        try:
            command, times = " ".join(process.cmdline()), process.cpu_times()
        except psutil.Error:
            continue
        for name, mark in SERVERS.items():
            if mark in command:
                seconds[name] += times.user + times.system
                seconds[OPENING if name == WEB else name] += times.children_user + times.children_system
                seconds[OPENING] += forked_seconds(process) if name == WEB else 0.0
    return seconds


def findings_of(played: Played, devices: Sequence[Device], begin: float, close: float) -> Run:
    """All numbers of what was played from ``begin`` to the ``close``, in seconds since the start of the competition;
    times in seconds of it."""
    accepted = np.array(list(played.accepted.values()))
    public, private = (_moments(played, track) for track in ("public", "private"))
    waits = public - accepted
    closed_private = float(np.max(private, initial=close))
    return {
        "accepted": float(len(accepted)),
        "refused_pending": float(played.refused["pending-limit"]),
        "refused_closed": float(played.refused["closed"]),
        "lost_messages": float(played.lost_messages),
        "refused_otherwise": float(played.refused.total() - played.refused["pending-limit"] - played.refused["closed"]),
        "wait_median": float(np.median(waits)),
        "wait_p95": float(np.quantile(waits, 0.95)),
        "wait_longest": float(np.max(waits)),
        "public_after_close": float(np.max(public) - close),
        "private_after_close": closed_private - close,
        "private_waiting_at_close": float(np.sum(private > close)),
        "busy_share": busy_share(devices, begin, close),
        "public_last_day": float(np.sum((public > close - DAY) & (public <= close))),
        "private_last_day": float(np.sum((private > close - DAY) & (private <= close))),
        **_series("hour", np.linspace(close - DAY, close, HOURS + 1), accepted, waits),
        **_series("bin", close - hours_before(close - begin) * HOUR, accepted, waits),
    }


def hours_before(seconds: float) -> NDArray[np.float64]:
    """The edges of the figure's bins in hours before the close, over the last ``seconds``; (BINS + 1,), the last one is
    the close itself."""
    return np.append(np.geomspace(seconds / HOUR, 1.0, BINS), 0.0)


def _moments(played: Played, track: str) -> NDArray[np.float64]:
    """When each accepted entry was scored; nan for one that was not."""
    return np.array([played.scored[track].get(entry, np.nan) for entry in played.accepted])


def _series(name: str, edges: NDArray[np.float64], accepted: NDArray[np.float64], waits: NDArray[np.float64]) -> Run:
    """By interval: how many entries were accepted, and how long they waited for their public scores."""
    numbers: Run = {}
    for place, (begin, end) in enumerate(pairwise(edges)):
        inside = waits[(accepted >= begin) & (accepted < end)]
        key = f"{name}{place:02}"
        numbers[f"{key}_entries"] = float(len(inside))
        numbers[f"{key}_median"] = float(np.median(inside)) if len(inside) else 0.0
        numbers[f"{key}_longest"] = float(np.max(inside, initial=0.0))
    return numbers


def costs_of(played: Played, costs: Costs) -> Run:
    """What an accepted entry costs each server, and how long the service's steps take by the real clock."""
    entries = max(1, len(played.accepted))
    processors = dict(costs.processors)
    processors[WEB] += processors[OPENING]
    steps = {name: np.array(played.durations[name]) for name in TIMED}
    return {
        "seconds": costs.seconds,
        "load": costs.load,
        "database_bytes_an_entry": costs.database_bytes / entries,
        **{f"processor_{name}": seconds / entries for name, seconds in processors.items()},
        **{f"{name}_median_ms": 1000 * float(np.median(each)) for name, each in steps.items() if len(each)},
        **{f"{name}_p99_ms": 1000 * float(np.quantile(each, 0.99)) for name, each in steps.items() if len(each)},
    }
