"""A worker's processes compute on its device one at a time, and do everything else in parallel."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from scorer.extractors import ExtractorOptions, load
from scorer.extractors.tiny import Tiny
from scorer.lifecycle import Queue
from scorer.metrics.memorization import nearest
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from tests.worker.scoring.worker_process import PATIENCE, worker_process
from worker.dispatch import run_next
from worker.maintenance.sweeper import sweep_once
from worker.runtime import device_turns
from worker.runtime.context import WorkerContext
from worker.runtime.device_turns import TakingTurns, device_turn, is_wanted
from worker.runtime.preemption import PREEMPT_AFTER, Preempted, preemptible
from worker.runtime.process_locks import try_lock
from worker.scoring import measure

FORK = get_context("fork")


@contextmanager
def forked(act: Callable[[Connection], object]) -> Iterator[tuple[Any, Connection]]:
    """Fork a process as Celery does for jobs. The value is the process and a connection to ``act``."""
    parent_end, child_end = FORK.Pipe()
    process = FORK.Process(target=act, args=(child_end,))
    process.start()
    try:
        yield process, parent_end
    finally:
        process.kill()
        process.join()


def compute(connection: Connection) -> None:
    """Take a turn, report it, and end it on request."""
    with device_turn():
        connection.send("computes")
        connection.recv()
    connection.send("ended")
    connection.recv()


def wait_publicly(connection: Connection) -> None:
    """Wait for a turn with a public job and report it."""
    _wait(connection, public=True)


def wait_in_the_background(connection: Connection) -> None:
    """Wait for a turn with another job and report it."""
    _wait(connection, public=False)


def _wait(connection: Connection, *, public: bool) -> None:
    waits: list[bool] = []

    def report_once() -> None:
        if not waits:
            connection.send("waits")
        waits.append(True)

    with device_turn(report_once, public=public):
        connection.send("computes")


def may_another_process_compute() -> bool:
    """Whether a process forked now would get its turn immediately."""
    child = os.fork()
    if child == 0:
        free = try_lock(device_turns._file, 0)
        os._exit(0 if free else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_turn_starts_when_the_other_process_ends_its_turn() -> None:
    waited: list[str] = []
    with forked(compute) as (_, connection):
        assert connection.recv() == "computes"

        def end_it() -> None:
            if not waited:
                connection.send("end")
            waited.append("x")

        with device_turn(end_it):
            assert waited
            assert not may_another_process_compute()
        assert connection.recv() == "ended"
        assert may_another_process_compute()


def test_a_turn_ends_with_its_killed_process() -> None:
    with forked(compute) as (process, connection):
        assert connection.recv() == "computes"
        with device_turn(process.kill):
            pass


def test_an_interrupted_wait_takes_no_turn() -> None:
    """For example after a lost lease or a stop of the worker."""

    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    with forked(compute) as (_, connection):
        assert connection.recv() == "computes"
        with pytest.raises(Stop), device_turn(stop, public=True):
            pass
        with forked(lambda other: other.send(is_wanted())) as (_, other):
            assert other.recv() is False
        connection.send("end")
        assert connection.recv() == "ended"
        assert may_another_process_compute()


def test_only_public_jobs_preempt_others() -> None:
    with device_turn():
        assert not is_wanted()
        with forked(wait_in_the_background) as (_, connection):
            assert connection.recv() == "waits"
            assert not is_wanted()
        with forked(wait_publicly) as (_, connection):
            assert connection.recv() == "waits"
            assert is_wanted()
        assert not is_wanted(), "nobody waits any more"


def test_a_background_job_yields_to_a_score_that_waits_for_the_device(service: Service) -> None:
    """The score is already claimed, so nothing waits in the queue."""
    context: WorkerContext = service.context
    now = context.now()
    context.now = lambda: now
    progress = preemptible(context, lambda *_: None)  # type: ignore[arg-type]
    with device_turn(), forked(wait_publicly) as (_, connection):
        assert connection.recv() == "waits"
        now += PREEMPT_AFTER
        with pytest.raises(Preempted):
            progress("features", 0.5)


def test_waiting_for_a_computing_process_is_no_stall() -> None:
    """The progress of the waiting process changes with the batches of the computing one, and only then."""
    computing, waiting = (TakingTurns(load("tiny", options=ExtractorOptions(batch_size=1))) for _ in range(2))

    def compute_on_request(connection: Connection) -> None:
        def report_batch(_: float) -> None:
            connection.send("a batch")
            connection.recv()

        computing.features(noise_images(1, count=3), progress=report_batch)

    def share_while_waiting() -> float:
        shares: list[float] = []

        def stop(share: float) -> None:
            shares.append(share)
            raise Preempted

        with pytest.raises(Preempted):
            waiting.features(noise_images(2), progress=stop)
        return shares[0]

    seen: list[float] = []
    with forked(compute_on_request) as (_, connection):
        for _batch in range(3):
            assert connection.recv() == "a batch"
            seen.append(share_while_waiting())
            assert share_while_waiting() == seen[-1], "no batch was computed in between"
            connection.send("continue")
    assert seen[0] != seen[1] != seen[2]
    assert max(seen) < 1e-5


def test_only_features_are_computed_in_turns(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    service.submit("ada", slug, make_zip(noise_images(5)))
    assert run_next(service.context, Queue.CHECK)
    free: dict[str, bool] = {}
    features = Tiny.features

    def watched_features(*arguments: Any, **options: Any) -> Any:
        free["features"] = may_another_process_compute()
        return features(*arguments, **options)

    def watched_nearest(*arguments: Any, **options: Any) -> Any:
        free["neighbours"] = may_another_process_compute()
        return nearest(*arguments, **options)

    monkeypatch.setattr(Tiny, "features", watched_features)
    monkeypatch.setattr(measure, "nearest", watched_nearest)
    assert run_next(service.context, Queue.SCORE)
    assert free == {"features": False, "neighbours": True}


WORKER = """
import os, sys, time
from pathlib import Path
from celery.__main__ import main
from scorer.extractors import ExtractorOptions, load
from scorer.extractors.tiny import Tiny
from worker.scoring import score

record = Path(os.environ["RECORD"])
compute, images_of = Tiny.features, score.decoded_images.submission_images

def write(what):
    with record.open("a") as file:
        file.write(f"{what} {os.getpid()}\\n")

def read():
    return [line.split() for line in record.read_text().splitlines()] if record.exists() else []

def images(*arguments, **options):
    decoded = images_of(*arguments, **options)
    write("decoded")
    return decoded

def features(self, *arguments, **options):
    write("begins")
    deadline = time.monotonic() + 60
    while len({pid for what, pid in read() if what == "decoded"}) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        return compute(self, *arguments, **options)
    finally:
        write("ends")  # also for a private score that yields to a public one

Tiny.features = features
score.decoded_images.submission_images = images
sys.argv = ["celery", "-A", "worker.app", "worker", "-Q", "score", "--concurrency", "2", "-l", "info"]
main()
"""


def test_a_worker_of_two_processes_decodes_an_entry_while_it_computes(service: Service, tmp_path: Path) -> None:
    slug = service.competition()
    entries = [
        service.submit(who, slug, make_zip(noise_images(10 + seed))).json()["id"]
        for seed, who in enumerate(["ada", "bob"])
    ]
    while run_next(service.context, Queue.CHECK):
        pass

    def are_scored() -> bool:
        statuses = [service.call("organizer", "GET", f"/submissions/{entry}").json()["status"] for entry in entries]
        return statuses == ["scored"] * len(entries)

    record = str(tmp_path / "record")
    with worker_process(WORKER, service.context.settings, RECORD=record) as worker:
        deadline = time.monotonic() + PATIENCE
        while not are_scored() and time.monotonic() < deadline:
            sweep_once(service.context)
            time.sleep(0.2)
    assert are_scored(), worker.output
    lines = [line.split() for line in (tmp_path / "record").read_text().splitlines()]
    computed = [line for line in lines if line[0] != "decoded"]
    pairs = list(zip(computed[::2], computed[1::2], strict=True))
    assert [(begin[0], end[0]) for begin, end in pairs] == [("begins", "ends")] * len(pairs), "one at a time"
    assert all(begin[1] == end[1] for begin, end in pairs)
    first_end = lines.index(computed[1])
    assert len({pid for what, pid in lines[:first_end] if what == "decoded"}) == 2, "both entries were decoded by then"
