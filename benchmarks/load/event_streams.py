"""A thousand event streams: when the last one has a change, and what they cost the web process."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import IO, Any

import psutil
from sqlalchemy import select

from benchmarks.harness.isolation import ROOT
from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.load.participants import Participant, add_participants, events_of, hand_in, noise_zip, reference_zips
from benchmarks.load.service import SCORER, WEB, LoadedService, open_competition, running_service
from scorer.db.submissions import submissions
from scorer.db.tables import Submission
from scorer.lifecycle import Status

SLUG = "streams"
IMAGES, IMAGE_SIZE = 8, 16
OPENED_AT_ONCE = 50
OPENED, HAVE_ALL = "opened", "have all"
PATIENCE = 120.0


@dataclass(frozen=True)
class Size:
    """How many streams follow a submission each, and for how many seconds nothing happens before the change."""

    streams: int = 1000
    idle_seconds: float = 20.0


FULL = Size()
QUICK = Size(streams=20, idle_seconds=1.0)


@dataclass(frozen=True)
class Listeners:
    """The submissions to follow, each with the token of its owner."""

    port: int
    submissions: Sequence[tuple[str, str]]


def measure(size: Size, *_: object) -> list[BenchmarkCase]:
    """One case: streams are opened, nothing happens, and then every submission changes in one transaction."""
    with running_service(WEB, f"{SCORER}0") as service:
        open_competition(service, SLUG, reference_zips(IMAGE_SIZE), image_count=IMAGES, image_size=IMAGE_SIZE)
        people = add_participants(service, size.streams)
        entries = _hand_in_all(service, people)
        owners = [(entry, person.token) for entry, person in zip(entries, people, strict=True)]
        (web,) = [each for each in service.processes(WEB) if "--factory" in each.cmdline()]
        before = _use(web)
        command = [sys.executable, "-m", __name__, json.dumps(asdict(Listeners(service.port, owners)))]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as listeners:
            begun = time.time()
            _read(listeners.stdout, OPENED)
            opened = time.time() - begun
            while_open = _use(web)
            time.sleep(size.idle_seconds)
            idle = _use(web)
            committed = _change_all(service, entries)
            arrivals = sorted(at - committed for at in _read(listeners.stdout, HAVE_ALL)["arrivals"])
            after = _use(web)
    numbers = {
        "seconds": arrivals[-1],
        "open_seconds": opened,
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
    return [BenchmarkCase("streams", dict(vars(size)), {"Kennel": [numbers]})]


def _hand_in_all(service: LoadedService, people: Sequence[Participant]) -> list[str]:
    content = noise_zip(1, IMAGES, IMAGE_SIZE)
    with ThreadPoolExecutor(8) as pool:
        tasks = [pool.submit(hand_in, "api", service.url, SLUG, person, content, person.handle) for person in people]
        return [task.result() for task in tasks]


def _use(process: psutil.Process) -> tuple[float, float]:
    times = process.cpu_times()
    return float(process.memory_info().rss), float(times.user + times.system)


def _change_all(service: LoadedService, entries: Sequence[str]) -> float:
    """Move every submission to its next status in one transaction; when that had committed."""
    now = datetime.now(UTC)
    with service.sessions.begin() as session:
        for ref in session.scalars(select(Submission.ref).where(Submission.id.in_(entries))).all():
            submissions.move_submission(session, ref, from_=Status.RECEIVED, to=Status.CHECKING, now=now)
    return time.time()


def _read(lines: IO[str] | None, wanted: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(lines.readline()) if lines is not None else {}
    if answer.get("what") != wanted:
        raise RuntimeError(f"the listeners should have {wanted}, and said {answer}")
    return answer


async def listen(task: Listeners) -> None:
    """Open every stream, say so, and say when each had the next status."""
    opening = asyncio.Semaphore(OPENED_AT_ONCE)
    opened: list[float] = []
    all_open = asyncio.Event()

    async def one(submission: str, token: str) -> float:
        await opening.acquire()
        seen = 0
        async for at, event in events_of(task.port, submission, token):
            if event is None:
                continue
            seen += 1
            if seen == 1:
                opening.release()
                opened.append(at)
                if len(opened) == len(task.submissions):
                    all_open.set()
            if event["status"] == Status.CHECKING:
                return at
        raise ConnectionError("a stream has ended")

    tasks = [asyncio.create_task(one(*each)) for each in task.submissions]
    await asyncio.wait_for(all_open.wait(), PATIENCE)
    print(json.dumps({"what": OPENED}), flush=True)
    arrivals = await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
    print(json.dumps({"what": HAVE_ALL, "arrivals": arrivals}), flush=True)


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    run, streams = case.numbers, case.settings["streams"]
    rows = [
        ("opened, s", f"{run['open_seconds']:.1f}"),
        ("first event after the commit, s", f"{run['first_seconds']:.2f}"),
        ("half of the streams had it after, s", f"{run['median_seconds']:.2f}"),
        ("the last one had it after, s", f"{run['last_seconds']:.2f}"),
        ("memory of the web process before, MiB", f"{run['resident_before'] / 2**20:,.0f}"),
        ("with all streams open, MiB", f"{run['resident_open'] / 2**20:,.0f}"),
        ("a stream, KiB", f"{(run['resident_open'] - run['resident_before']) / streams / 2**10:,.0f}"),
        ("processor while nothing happens, of a core", f"{100 * run['idle_processor_share']:.1f} %"),
        ("processor for the change, s", f"{run['change_processor_seconds']:.2f}"),
    ]
    target = Target("streams that had the event", run["streams"], streams, True)
    return Findings([MarkdownTable(f"{streams:,} streams", ("", ""), rows)], [target])


if __name__ == "__main__":
    fields = json.loads(sys.argv[1])
    asyncio.run(listen(Listeners(fields["port"], [tuple(each) for each in fields["submissions"]])))
