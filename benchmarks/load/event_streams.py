"""A thousand event streams: the delay until the last one has a change, and the cost for the web process."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

import psutil
from sqlalchemy import select

from benchmarks.harness.isolation import Run
from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.load.participants import (
    Participant,
    add_participants,
    noise_zip,
    open_small_competition,
    read_events,
    submit_entry,
)
from benchmarks.load.service import SCORER, WEB, LoadedService, running_service
from scorer.db.submissions import submissions
from scorer.db.tables import Submission
from scorer.lifecycle import Status
from scorer.process_resources import raise_open_files_limit

SLUG = "streams"
OPENED_AT_ONCE = 50
PATIENCE = 120.0


@dataclass(frozen=True)
class Size:
    """The number of streams, each for one submission, and the idle seconds before the change."""

    streams: int = 1000
    idle_seconds: float = 20.0


FULL = Size()
QUICK = Size(streams=20, idle_seconds=1.0)


def measure(size: Size, *_: object) -> list[BenchmarkCase]:
    """One case: open the streams, wait, then change every submission in one transaction."""
    raise_open_files_limit()
    with running_service(WEB, f"{SCORER}0") as service:
        open_small_competition(service, SLUG)
        people = add_participants(service, size.streams)
        numbers = asyncio.run(_listen(service, people, _submit_all(service, people), size=size))
    return [BenchmarkCase("streams", dict(vars(size)), {"Kennel": [numbers]})]


async def _listen(service: LoadedService, people: Sequence[Participant], entries: Sequence[str], *, size: Size) -> Run:
    """Open a stream of every entry, wait, change all entries, and wait until every stream has the change."""
    (web,) = [process for process in service.processes(WEB) if "--factory" in process.cmdline()]
    before, begun = _use(web), time.time()
    opening, opened = asyncio.Semaphore(OPENED_AT_ONCE), asyncio.Barrier(1 + len(entries))

    async def follow(entry: str, person: Participant) -> float:
        events = read_events(service.port, entry, person.token)
        async with opening:
            await anext(events)
        await opened.wait()
        async for at, event in events:
            if event["status"] == Status.CHECKING:
                return at
        raise ConnectionError("a stream has ended")

    tasks = [asyncio.create_task(follow(entry, person)) for entry, person in zip(entries, people, strict=True)]
    await asyncio.wait_for(opened.wait(), PATIENCE)
    opened_after, while_open = time.time() - begun, _use(web)
    await asyncio.sleep(size.idle_seconds)
    idle, committed = _use(web), _change_all(service, entries)
    arrivals = sorted(at - committed for at in await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE))
    after = _use(web)
    return {
        "seconds": arrivals[-1],
        "open_seconds": opened_after,
        "streams": float(len(arrivals)),
        "first_seconds": arrivals[0],
        "median_seconds": arrivals[len(arrivals) // 2],
        "last_seconds": arrivals[-1],
        "resident_before": before[0],
        "resident_open": idle[0],
        "resident_after": after[0],
        "idle_processor_share": (idle[1] - while_open[1]) / size.idle_seconds,
        "change_processor_seconds": after[1] - idle[1],
    }


def _submit_all(service: LoadedService, people: Sequence[Participant]) -> list[str]:
    content = noise_zip(1)
    with ThreadPoolExecutor(8) as pool:
        tasks = [
            pool.submit(submit_entry, "api", service.url, SLUG, person=person, content=content, key=person.handle)
            for person in people
        ]
        return [task.result() for task in tasks]


def _use(process: psutil.Process) -> tuple[float, float]:
    times = process.cpu_times()
    return float(process.memory_info().rss), float(times.user + times.system)


def _change_all(service: LoadedService, entries: Sequence[str]) -> float:
    """Move every submission to its next status in one transaction. Returns the time of the commit."""
    now = datetime.now(UTC)
    with service.sessions.begin() as session:
        for ref in session.scalars(select(Submission.ref).where(Submission.id.in_(entries))).all():
            submissions.move_submission(session, ref, from_=Status.RECEIVED, to=Status.CHECKING, now=now)
    return time.time()


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    run, streams = case.numbers, case.settings["streams"]
    rows = [
        ("time to open all streams, s", f"{run['open_seconds']:.1f}"),
        ("until the first stream received the event, s", f"{run['first_seconds']:.2f}"),
        ("until half of the streams received it, s", f"{run['median_seconds']:.2f}"),
        ("until all streams received it, s", f"{run['last_seconds']:.2f}"),
        ("memory of the web process without streams, MiB", f"{run['resident_before'] / 2**20:,.0f}"),
        ("memory of the web process with all streams, MiB", f"{run['resident_open'] / 2**20:,.0f}"),
        ("memory per stream, KiB", f"{(run['resident_open'] - run['resident_before']) / streams / 2**10:,.0f}"),
        ("processor use while idle, share of a core", f"{100 * run['idle_processor_share']:.1f} %"),
        ("processor time to send the event, s", f"{run['change_processor_seconds']:.2f}"),
    ]
    target = Target("streams that received the event", run["streams"], streams, True)
    return Findings([MarkdownTable(f"{streams:,} streams", ("", ""), rows)], [target])
