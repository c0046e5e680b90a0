"""A lost GPU ends the worker process but fails no entry."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from scorer.db.tables import Job
from scorer.errors import Unavailable
from scorer.extractors import DeviceLost, ExtractorOptions, load
from scorer.extractors.devices import translated_device_errors
from scorer.extractors.tiny import Tiny
from scorer.lifecycle import Queue
from scorer.settings import Settings
from tests.api.conftest import Service
from tests.factories import let_time_pass, make_zip, noise_images
from tests.worker.scoring.worker_process import PATIENCE, worker_process
from worker.dispatch import run_next
from worker.maintenance.sweeper import sweep_once
from worker.runtime import context as worker_context
from worker.runtime import self_test, startup
from worker.runtime.context import WorkerContext, build_extractor_options
from worker.runtime.health import PAUSE_SECONDS, device_losses
from worker.scoring import score

ENTRIES = 2


@pytest.fixture(autouse=True)
def losses() -> Iterator[Any]:
    yield device_losses
    device_losses.value = 0


@pytest.fixture
def entries(service: Service) -> list[str]:
    """Entries that wait for their public score."""
    slug = service.competition()
    ids = [
        service.submit(who, slug, make_zip(noise_images(10 + seed))).json()["id"]
        for seed, who in enumerate(["ada", "bob"])
    ]
    while run_next(service.context, Queue.CHECK):
        pass
    return ids


def lost(*_: Any, **__: Any) -> Any:
    with translated_device_errors():
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")


def jobs(service: Service) -> list[Job]:
    with service.context.sessions() as session:
        return session.query(Job).filter_by(queue="score", priority=0).order_by(Job.id).all()


def statuses(service: Service, entries: list[str]) -> list[str]:
    return [service.call("organizer", "GET", f"/submissions/{entry}").json()["status"] for entry in entries]


def pass_time(service: Service, by: timedelta) -> None:
    with service.context.sessions.begin() as session:
        let_time_pass(session, by)


def next_process(service: Service) -> WorkerContext:
    """The process that replaces an ended one."""
    context = service.context
    return WorkerContext.open(context.settings, context.broker)


def test_the_job_is_requeued_without_an_attempt_and_the_process_ends(
    service: Service, entries: list[str], monkeypatch: pytest.MonkeyPatch, losses: Any
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Tiny, "features", lost)
        with pytest.raises(SystemExit) as end:
            run_next(service.context, Queue.SCORE)
    assert end.value.code == 1
    assert losses.value == 1
    first, second = jobs(service)
    assert (first.state, first.attempts, first.deferrals) == ("waiting", 0, 1)
    assert "illegal memory access" in (first.error or "")
    assert (second.state, second.attempts, second.deferrals) == ("waiting", 0, 0)
    assert statuses(service, entries) == ["queued"] * ENTRIES


def test_a_loss_while_a_network_is_loaded_ends_the_process(
    service: Service, entries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No extractor is loaded at that time, so a self-test would find nothing."""
    monkeypatch.setattr(worker_context, "load", lost)
    with pytest.raises(SystemExit):
        run_next(next_process(service), Queue.SCORE)
    assert {job.attempts for job in jobs(service)} == {0}
    assert statuses(service, entries) == ["queued"] * ENTRIES


def test_no_number_of_losses_fails_an_entry(
    service: Service, entries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every loss makes the process suspect. Nothing else is wrong, so the next process claims again."""
    with monkeypatch.context() as patch:
        patch.setattr(Tiny, "features", lost)
        for _ in range(50):
            pass_time(service, timedelta(hours=1))
            with pytest.raises(SystemExit):
                run_next(service.context, Queue.SCORE)
    assert statuses(service, entries) == ["queued"] * ENTRIES
    assert {job.attempts for job in jobs(service)} == {0}
    assert sum(job.deferrals for job in jobs(service)) == 50
    pass_time(service, timedelta(hours=1))
    service.run_jobs()
    assert statuses(service, entries) == ["scored"] * ENTRIES
    assert device_losses.value == 0, "a success resets the count"


def test_the_next_process_checks_the_gpu_before_it_claims(
    service: Service, entries: list[str], monkeypatch: pytest.MonkeyPatch, losses: Any
) -> None:
    probed: list[str] = []
    answers: list[str | None] = ["The GPU 'cuda' does not work: no answer", None]

    def answer(device: str) -> str | None:
        probed.append(device)
        return answers.pop(0)

    monkeypatch.setattr(self_test, "device_fault", answer)
    losses.value = 1
    context = next_process(service)
    assert not run_next(context, Queue.SCORE)
    assert "does not work" in (context.health.problem or "")
    assert not run_next(context, Queue.SCORE), "the process pauses"
    assert probed == ["cuda"]
    context.health.claims_from -= PAUSE_SECONDS[0]
    assert run_next(context, Queue.SCORE)
    assert probed == ["cuda", "cuda"]
    assert losses.value == 0
    assert "scored" in statuses(service, entries)


def test_successive_losses_lead_to_longer_pauses(service: Service, losses: Any) -> None:
    for lost_so_far, pause in ((1, 0.0), (2, PAUSE_SECONDS[0]), (3, PAUSE_SECONDS[1]), (9, PAUSE_SECONDS[-1])):
        losses.value = lost_so_far
        health = next_process(service).health
        waits = max(0.0, health.claims_from - health.clock())
        assert pause - 5 < waits <= pause


def test_a_loss_found_by_the_self_test_ends_the_process(
    service: Service, entries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job failed with another error, but the GPU may be the cause, so no attempt counts."""

    def fail(*_: Any, **__: Any) -> Any:
        monkeypatch.setattr(Tiny, "features", lost)
        raise RuntimeError("something else")

    monkeypatch.setattr(score, "measure", fail)
    with pytest.raises(SystemExit):
        run_next(service.context, Queue.SCORE)
    assert {job.attempts for job in jobs(service)} == {0}
    assert statuses(service, entries) == ["queued"] * ENTRIES


LOSING = """
import os, sys
from pathlib import Path
from celery.__main__ import main
from scorer.extractors import DeviceLost
from scorer.extractors.tiny import Tiny
from worker.runtime import self_test

compute = Tiny.features
record = Path(os.environ["RECORD"])

def write(what):
    with record.open("a") as file:
        file.write(f"{what} {os.getpid()}\\n")

def features(self, images, **how):
    if not record.exists():
        write("lost")
        raise DeviceLost("AcceleratorError: CUDA error: an illegal memory access was encountered")
    write("computed")
    return compute(self, images, **how)

def probe(device):
    write("probed " + device)

Tiny.features = features
self_test.device_fault = probe
sys.argv = ["celery", "-A", "worker.app", "worker", "-Q", "score", "--concurrency", "1", "-l", "info"]
main()
"""


def test_a_worker_continues_with_a_new_process(service: Service, entries: list[str], tmp_path: Path) -> None:
    variables = {"KENNEL_RETRY_FACTOR": "0.001", "RECORD": str(tmp_path / "record")}
    with worker_process(LOSING, service.context.settings, **variables) as worker:
        deadline = time.monotonic() + PATIENCE
        while statuses(service, entries) != ["scored"] * ENTRIES and time.monotonic() < deadline:
            sweep_once(service.context)
            time.sleep(0.2)
    assert statuses(service, entries) == ["scored"] * ENTRIES, worker.output
    assert "this process ends because its GPU is lost" in worker.output
    words = [line.split() for line in (tmp_path / "record").read_text().splitlines()]
    assert [entry[0] for entry in words[:3]] == ["lost", "probed", "computed"]
    assert words[0][-1] != words[1][-1] == words[2][-1], "a new process starts"
    assert {job.attempts for job in jobs(service)} == {1}
    assert sum(job.deferrals for job in jobs(service)) == 1


# Checks at the start


@pytest.mark.parametrize(
    ("device", "expected"), [("cuda:3", ["cuda:3"]), ("cuda", ["cuda"]), ("cpu", []), ("auto", [])]
)
def test_a_scoring_worker_refuses_a_gpu_that_does_not_work(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, device: str, expected: list[str]
) -> None:
    found: list[str] = []

    def fault(name: str) -> str:
        found.append(name)
        return f"The GPU '{name}' does not work."

    monkeypatch.setattr(startup, "device_fault", fault)
    monkeypatch.setattr(startup, "read_settings", lambda: settings.model_copy(update={"device": device}))

    def start(*queues: str) -> None:
        queue_names = SimpleNamespace(consume_from=queues)
        startup.refuse_to_start(SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queue_names))))

    start("check")
    assert not found, "the queue needs no GPU"
    if expected:
        with pytest.raises(SystemExit, match=f"The GPU '{device}' does not work"):
            start("score", "prepare")
    else:
        start("score", "prepare")
    assert found == expected


def test_the_device_setting_is_read(settings: Settings) -> None:
    options = build_extractor_options(settings.model_copy(update={"device": "cuda:3"}))
    assert (options.device, options.device_index) == ("cuda", 3)
    for wrong in ("cuda:", "cuda:x", "gpu", "cuda:-1", "cpu:0"):
        with pytest.raises(ValueError, match="pattern"):
            Settings.model_validate(settings.model_dump() | {"device": wrong})


def test_an_extractor_without_room_unloads_others(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    context = service.context
    context.extractor("tiny@1")
    begun: list[int] = []

    def crowded(identity: str, *, options: ExtractorOptions) -> Any:
        begun.append(len(context.loaded_extractors()))
        if context.loaded_extractors():
            raise Unavailable("no-gpu-memory", "The GPU is full.")
        return load("tiny@1", options=ExtractorOptions())

    monkeypatch.setattr(worker_context, "load", crowded)
    context.extractor("efficientnet_lite0@1")
    assert begun == [1, 0]
    assert len(context.loaded_extractors()) == 1

    def full(identity: str, *, options: ExtractorOptions) -> Any:
        raise Unavailable("no-gpu-memory", "The GPU is full.")

    monkeypatch.setattr(worker_context, "load", full)
    with pytest.raises(Unavailable, match="full"):
        context.extractor("efficientnet_lite2@1")


def test_a_loss_is_not_reported_as_a_worker_problem(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.context.extractor("tiny@1")
    monkeypatch.setattr(Tiny, "features", lost)
    with pytest.raises(DeviceLost):
        self_test.self_test(service.context)
