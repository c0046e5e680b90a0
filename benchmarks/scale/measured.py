"""The numbers of a part, and the tables of SCALE.md: waits by hour, work of the workers, cost of an entry."""

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.harness.isolation import Run, forked_seconds
from benchmarks.harness.report import machine_line, render_markdown
from benchmarks.harness.results import read_results
from benchmarks.scale.arrivals import DAY, DAYS, HOUR, entries_by_hour
from benchmarks.scale.capacity import waits
from benchmarks.scale.simulation import Played, WorkerPool

HOURS = 24
"""The hours of the last day, each with its own row."""
BINS = 24
"""The intervals of the whole competition, shorter towards the deadline."""
TIMED = ("upload", "claim", "record", "board", "sweep")

SERVERS = {"web": "uvicorn", "database": "postgres", "queue": "valkey"}
"""Text in the command lines of each part's processes."""
WEB, OPENING = "web", "opening"
"""The web's own processes, and the ones that it starts to open uploads."""


def processor_seconds() -> Mapping[str, float]:
    """Processor seconds so far of each server's processes, including ended ones.

    ``OPENING`` has those of ended processes that the web has started or forked.
    """
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


def compute_findings(played: Played, scorers: WorkerPool, close: float) -> Run:
    """All numbers up to the ``close``; times in seconds of the competition."""
    accepted = np.array(list(played.accepted.values()))
    public, private = (
        np.array([played.scored[track].get(entry, np.nan) for entry in played.accepted])
        for track in ("public", "private")
    )
    waits = public - accepted
    closed_private = float(np.max(private, initial=close))
    return {
        "accepted": float(len(accepted)),
        "refused_pending": float(played.refused["pending-limit"]),
        "refused_closed": float(played.refused["closed"]),
        "refused_otherwise": float(played.refused.total() - played.refused["pending-limit"] - played.refused["closed"]),
        "wait_median": float(np.median(waits)),
        "wait_p95": float(np.quantile(waits, 0.95)),
        "wait_longest": float(np.max(waits)),
        "public_after_close": float(np.max(public) - close),
        "private_after_close": closed_private - close,
        "private_waiting_at_close": float(np.sum(private > close)),
        "busy_share": scorers.busy_share(close),
        "public_last_day": float(np.sum((public > close - DAY) & (public <= close))),
        "private_last_day": float(np.sum((private > close - DAY) & (private <= close))),
        **_series("hour", np.linspace(close - DAY, close, HOURS + 1), accepted, waits=waits),
        **_series("bin", close - hours_before(close) * HOUR, accepted, waits=waits),
    }


def hours_before(seconds: float) -> NDArray[np.float64]:
    """The edges of the bins in hours before the deadline, over the last ``seconds``, ending with it; (BINS + 1,)."""
    return np.append(np.geomspace(seconds / HOUR, 1.0, BINS), 0.0)


def _series(name: str, edges: NDArray[np.float64], accepted: NDArray[np.float64], *, waits: NDArray[np.float64]) -> Run:
    """By interval: the number of accepted entries, and their waits for public scores."""
    numbers: Run = {}
    for place, (begin, end) in enumerate(pairwise(edges)):
        inside = waits[(accepted >= begin) & (accepted < end)]
        key = f"{name}{place:02}"
        numbers[f"{key}_entries"] = float(len(inside))
        numbers[f"{key}_median"] = float(np.median(inside)) if len(inside) else 0.0
        numbers[f"{key}_longest"] = float(np.max(inside, initial=0.0))
    return numbers


def compute_costs(played: Played, seconds: float, processors: Mapping[str, float], *, database_bytes: float) -> Run:
    """The cost of an accepted entry for each server, and the service's steps in seconds of the real clock.

    ``processors`` has processor seconds by server, ``database_bytes`` is the growth of the database.
    """
    entries = max(1, len(played.accepted))
    processors = {**processors, WEB: processors[WEB] + processors[OPENING]}
    steps = {name: np.array(played.durations[name]) for name in TIMED}
    return {
        "seconds": seconds,
        "load": os.getloadavg()[1],
        "database_bytes_an_entry": database_bytes / entries,
        **{f"processor_{name}": spent / entries for name, spent in processors.items()},
        **{f"{name}_median_ms": 1000 * float(np.median(times)) for name, times in steps.items() if len(times)},
        **{f"{name}_p99_ms": 1000 * float(np.quantile(times, 0.99)) for name, times in steps.items() if len(times)},
    }


SERVED = {"web": "web", "database": "database", "queue": "queue server"}
STEPS = {
    "upload": "upload a zip",
    "claim": "claim a job",
    "record": "record a check or a score",
    "board": "request the board after a change",
    "sweep": "sweep",
}


def parts() -> Mapping[str, str]:
    """The text of each part of the page, from the newest result of each number of workers."""
    results = [newest[0] for workers in (1, 4, 16, 64) if (newest := read_results(f"scale_cpu_{workers}"))]
    runs = {result.cases[0].settings["workers"]: result.cases[0].numbers for result in results}
    titles = [f"{workers} worker{'s' if workers > 1 else ''}" for workers in runs]
    entries = f"{next(iter(runs.values()))['accepted']:,.0f}"
    tables = {
        "whole": (("", *titles), _whole(runs)),
        "hours": (("", f"entries, of {entries}", *titles), _by_hour(list(runs.values()))),
        "days": (("", f"entries, of {entries}", *titles), _by_days(list(runs.values()))),
        "saturation": (("", "seconds per entry", "capacity, entries a day"), _saturation(list(runs.values()))),
        "steps": (("median and 99th percentile, ms", *titles), _steps(list(runs.values()))),
        "rates": (("", *titles), _rates(runs)),
    }
    lines = [
        f"- {title.capitalize()}; system load at the end: {run['load']:.1f}."
        f" {machine_line(result.machine, result.command)}"
        for title, run, result in zip(titles, runs.values(), results, strict=True)
    ]
    return {name: "\n".join(render_markdown(*table)) for name, table in tables.items()} | {"machines": "\n".join(lines)}


def _whole(runs: Mapping[int, Run]) -> list[tuple[str, ...]]:
    def row(name: str, key: str, form: str = ",.0f", *, by: float = 1.0) -> tuple[str, ...]:
        return name, *(format(run[key] / by, form) for run in runs.values())

    work = {workers: (run["public_last_day"] + run["private_last_day"]) / workers for workers, run in runs.items()}
    return [
        row("accepted", "accepted"),
        row("not submitted by the deadline", "given_up"),
        row("refused because two were in progress", "refused_pending"),
        row("refused after the deadline", "refused_closed"),
        row("refused for other reasons", "refused_otherwise"),
        row("duration of a public score, s", "public_host_seconds"),
        row("duration of a private score, s", "private_host_seconds"),
        row("duration of a check, s", "check_host_seconds", ".1f"),
        row("median wait for the public score, min", "wait_median", ",.1f", by=60),
        row("95th percentile of that wait, min", "wait_p95", ",.1f", by=60),
        row("longest wait, min", "wait_longest", ",.1f", by=60),
        row("last public score after the deadline, h", "public_after_close", ",.1f", by=HOUR),
        row("last private score after the deadline, h", "private_after_close", ",.1f", by=HOUR),
        row("private scores missing at the deadline", "private_waiting_at_close"),
        row("share of the time that workers are busy", "busy_share", ".1%"),
        ("scores per worker on the last day", *(f"{scores:,.0f}" for scores in work.values())),
        row("first entries overtaken unfairly", "fairness_first_unfair"),
        row("further entries overtaken unfairly", "fairness_later_unfair"),
        row("actual duration of the simulation, min", "seconds", ",.0f", by=60),
    ]


def _waits(runs: Sequence[Run], key: str) -> list[str]:
    """An interval's entries in the first run, and each run's median and longest wait, in minutes."""
    waited = [f"{run[f'{key}_median'] / 60:,.1f}, {run[f'{key}_longest'] / 60:,.1f}" for run in runs]
    return [f"{runs[0][f'{key}_entries']:,.0f}", *waited]


def _by_hour(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    return [(f"{HOURS - hour} h before the deadline", *_waits(runs, f"hour{hour:02}")) for hour in range(HOURS)]


def _by_days(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    return [
        (f"{before / 24:.1f} to {after / 24:.1f} days before the deadline", *_waits(runs, f"bin{place:02}"))
        for place, (before, after) in enumerate(pairwise(hours_before(DAYS * DAY)))
        if before > HOURS
    ]


def _saturation(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    run = max(runs, key=lambda run: run["accepted"])
    rows = {
        "one worker on two cores": run["public_host_seconds"] + run["private_host_seconds"],
        "one checking process": run["check_host_seconds"],
        **{f"one core for the {name}": run[f"processor_{key}"] for key, name in SERVED.items()},
    }
    ordered = sorted(rows.items(), key=lambda row: -row[1])
    return [(name, f"{seconds:.3f}", f"{DAY / seconds:,.0f}") for name, seconds in ordered]


def _steps(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    return [
        (name, *(f"{run[f'{key}_median_ms']:.0f}, {run[f'{key}_p99_ms']:.0f}" for run in runs))
        for key, name in STEPS.items()
    ]


def _rates(runs: Mapping[int, Run]) -> list[tuple[str, ...]]:
    modelled = [
        waits(entries_by_hour(), workers, run["public_host_seconds"], private=run["private_host_seconds"])
        for workers, run in runs.items()
    ]
    minutes = {
        "longest wait, hourly rates": [found.public for found in modelled],
        "longest wait, simulated": [run["wait_longest"] for run in runs.values()],
        "last private score after the deadline, hourly rates": [found.private for found in modelled],
        "last private score after the deadline, simulated": [run["private_after_close"] for run in runs.values()],
    }
    return [(name, *(f"{value / 60:,.1f}" for value in values)) for name, values in minutes.items()]
