"""A soak: an hour of reading, submitting, following and scoring with flat memory in every process."""

import asyncio
import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import httpx
import numpy as np
from scipy.stats import theilslopes

from benchmarks.harness.isolation import Run
from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.load.participants import (
    WAYS,
    Participant,
    Rejected,
    add_participants,
    noise_zip,
    open_small_competition,
    read_events,
    submit_entry,
)
from benchmarks.load.service import BEAT, CHECKER, SCORER, WEB, LoadedService, running_service

SLUG = "soak"
PARTS = (WEB, CHECKER, SCORER, BEAT)
PEOPLE = 40
ZIPS = 10
WARM_UP_SHARE = 0.3
"""The share of the soak in which caches fill and libraries are loaded. Memory is judged after it."""
MAX_GROWTH_SHARE = 0.1
MIN_GROWTH_BYTES = 16 << 20
"""Memory counts as flat if it grows by less than this, or by less than a tenth of it.

Allocators keep and return memory in pieces of many MB. An hour finds a leak of half a MB per minute; five minutes find
one of 5 MB per minute.
"""
STREAM_SECONDS = 60.0


@dataclass(frozen=True)
class Size:
    """The duration, the seconds between samples of memory, and the zips and reads per second."""

    seconds: float = 3600.0
    sample_seconds: float = 2.0
    zips_a_second: float = 1.0
    reads_a_second: float = 20.0


FULL = Size()
QUICK = Size(seconds=10.0, sample_seconds=0.2)


@dataclass
class Traffic:
    reads: int = 0
    entries: int = 0
    streams: int = 0
    errors: list[str] = field(default_factory=list)


def measure(size: Size, *_: object) -> list[BenchmarkCase]:
    with running_service() as service:
        open_small_competition(service, SLUG, daily_limit=None, pending_limit=100)
        people = add_participants(service, PEOPLE)
        traffic, samples = _soak(service, people, size)
    numbers: Run = {
        "seconds": size.seconds,
        **{name: float(getattr(traffic, name)) for name in ("reads", "entries", "streams")},
        "errors": float(len(traffic.errors)),
    }
    for part, series in samples.items():
        numbers |= {f"{part}_{key}": value for key, value in measure_memory(series, size.seconds).items()}
    return [BenchmarkCase("soak", dict(vars(size)), {"Kennel": [numbers]})]


def measure_memory(series: Sequence[tuple[float, float]], seconds: float) -> Run:
    """First size, and median, slope in bytes per hour and growth after the warm-up, from (second, resident bytes).

    The slope is Theil and Sen's, so single jumps do not count.
    """
    warm = np.array([(at, size) for at, size in series if at >= WARM_UP_SHARE * seconds] or series)
    some = warm[:: len(warm) // 600 + 1]  # 180,000 pairs
    slope = float(theilslopes(some[:, 1], some[:, 0])[0]) if len(some) > 1 else 0.0
    return {
        "first_bytes": series[0][1],
        "median_bytes": float(np.median(warm[:, 1])),
        "last_bytes": series[-1][1],
        "bytes_an_hour": 3600 * slope,
        "growth_bytes": slope * float(warm[-1, 0] - warm[0, 0]),
    }


def max_growth(run: Mapping[str, float], part: str) -> float:
    """The largest growth of a part's memory that counts as flat."""
    return max(MIN_GROWTH_BYTES, MAX_GROWTH_SHARE * run[f"{part}_median_bytes"])


def _soak(
    service: LoadedService, people: Sequence[Participant], size: Size
) -> tuple[Traffic, dict[str, list[tuple[float, float]]]]:
    traffic = Traffic()
    end = threading.Event()
    readers = threading.Thread(target=_read, args=(service, size, traffic, end))
    visitors = threading.Thread(target=lambda: asyncio.run(_submit(service, people, size, traffic=traffic, end=end)))
    samples: dict[str, list[tuple[float, float]]] = {part: [] for part in PARTS}
    begun = time.monotonic()
    readers.start()
    visitors.start()
    while (at := time.monotonic() - begun) < size.seconds:
        for part, series in samples.items():
            series.append((at, float(service.resident_bytes(part))))
        time.sleep(size.sample_seconds)
    end.set()
    readers.join()
    visitors.join()
    return traffic, samples


def _read(service: LoadedService, size: Size, traffic: Traffic, *, end: threading.Event) -> None:
    """Read the board, its page and its CSV in turn, at the rate in ``size``."""
    api = f"/api/v1/competitions/{SLUG}"
    paths = (f"{api}/leaderboard", f"/competitions/{SLUG}", f"{api}/leaderboard?format=csv", api)
    with httpx.Client(base_url=service.url, timeout=60, trust_env=False) as http:
        for path in itertools.cycle(paths):
            if end.wait(1 / size.reads_a_second):
                return
            try:
                http.get(path).raise_for_status()
            except httpx.HTTPError as error:
                traffic.errors.append(f"{path}: {error}")
            else:
                traffic.reads += 1


async def _submit(
    service: LoadedService, people: Sequence[Participant], size: Size, *, traffic: Traffic, end: threading.Event
) -> None:
    """Submit zips in every way in turn, at the rate in ``size``, and follow each with a stream."""
    contents = [noise_zip(seed) for seed in range(ZIPS)]
    tasks: set[asyncio.Task[None]] = set()
    with ThreadPoolExecutor(8) as senders:

        async def one(number: int) -> None:
            person = people[number % len(people)]
            way, content = WAYS[number % len(WAYS)], contents[number % ZIPS]
            send = partial(submit_entry, way, service.url, SLUG, person=person, content=content, key=f"soak-{number}")
            try:
                entry = await asyncio.get_running_loop().run_in_executor(senders, send)
                traffic.entries += 1
                async with asyncio.timeout(STREAM_SECONDS):
                    async for _, event in read_events(service.port, entry, person.token):
                        if event["over"]:
                            break
                traffic.streams += 1
            except TimeoutError:
                traffic.streams += 1  # this client closed it before its entry was scored
            except (Rejected, OSError, httpx.TransportError) as error:
                traffic.errors.append(f"{way}: {error}")

        for number in itertools.count():
            if end.is_set():
                break
            task = asyncio.create_task(one(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await asyncio.sleep(1 / size.zips_a_second)
        await asyncio.gather(*tasks)


def findings(result: BenchmarkResult) -> Findings:
    run = result.cases[0].numbers
    rows = [
        (
            part,
            *(f"{run[f'{part}_{key}_bytes'] / 2**20:,.0f}" for key in ("first", "median", "last")),
            f"{run[f'{part}_growth_bytes'] / 2**20:+.1f}",
            f"{run[f'{part}_bytes_an_hour'] / 2**20:+.1f}",
        )
        for part in PARTS
    ]
    header = ("", "first, MiB", "median after warm-up", "last", "growth", "growth per hour")
    title = (
        f"{run['seconds'] / 60:.0f} minutes: {run['entries']:,.0f} entries, {run['streams']:,.0f} streams,"
        f" {run['reads']:,.0f} reads"
    )
    targets = [
        Target(f"growth of {part}", run[f"{part}_growth_bytes"] / 2**20, max_growth(run, part) / 2**20, False, " MiB")
        for part in PARTS
    ]
    return Findings([MarkdownTable(title, header, rows)], [*targets, Target("errors", run["errors"], 0, False)])
