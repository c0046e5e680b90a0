"""How long a worker takes for each job of an entry of 10,000 images, as stored results have it; a play keeps the times
that it was made with.

A worker on processors: measured (RESULTS.md), on this kind of machine. A worker with a GPU: seconds of the GPU are
those of a check on one, and those of the host were measured on a machine without one, as GPU.md has them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Literal

from benchmarks.gpu import host_stages, submissions
from benchmarks.gpu.check_pages import kept_pages
from benchmarks.gpu.pipeline import Job
from benchmarks.gpu.roofline import NETWORKS, count_cost, measured, measured_track
from benchmarks.harness.isolation import THREADS, Run
from benchmarks.harness.rounds import median_of
from benchmarks.load.last_hour_plan import network_seconds
from deploy.standalone.commands import PROCESSES_OF_A_GPU

WorkerKind = Literal["cpu", "gpu"]
JOBS = ("check", "public", "private")
WORKERS_OF_A_CHECKER = 8
"""Scoring workers without a GPU for each process that checks."""


@dataclass(frozen=True)
class JobSeconds:
    """A job's seconds: first on the GPU, for which processes wait in turn, then on the host."""

    gpu: float
    host: float
    processors: float
    """Processor seconds of the host."""


@dataclass(frozen=True)
class ServiceTimes:
    """What a worker is, and how long its jobs take."""

    processes: int
    """That score."""
    checkers_by_worker: float
    """Processes that check, for each worker."""
    check: JobSeconds
    public: JobSeconds
    private: JobSeconds

    @property
    def busy_seconds(self) -> Mapping[str, float]:
        """Seconds by track in which no other entry can have what there is one of: the GPU, or the processors."""
        return {"public": _bottleneck(self.public), "private": _bottleneck(self.private)}


def _bottleneck(seconds: JobSeconds) -> float:
    return seconds.gpu or seconds.host


def numbers_of(times: ServiceTimes) -> Run:
    """The times as numbers of a play's run."""
    numbers = {"scoring_processes": float(times.processes), "checkers_by_worker": times.checkers_by_worker}
    for job in JOBS:
        numbers |= {f"{job}_{name}_seconds": value for name, value in asdict(getattr(times, job)).items()}
    return numbers


def times_of(run: Run) -> ServiceTimes:
    """The times that a play was made with, from the numbers of its run."""
    jobs = {
        job: JobSeconds(**{each.name: run[f"{job}_{each.name}_seconds"] for each in fields(JobSeconds)}) for job in JOBS
    }
    return ServiceTimes(int(run["scoring_processes"]), run["checkers_by_worker"], **jobs)


@cache
def service_times(kind: WorkerKind) -> ServiceTimes:
    """The newest times of a kind of worker; ``LookupError`` if what they need was not measured."""
    return _on_processors() if kind == "cpu" else _on_a_gpu()


def _on_processors() -> ServiceTimes:
    seconds = {
        track: JobSeconds(0.0, sum(ends) / 2, THREADS * sum(ends) / 2) for track, ends in network_seconds().items()
    }
    case = measured(host_stages.NAME).case(host_stages.DECODING)
    if case is None:
        raise LookupError(f"decoding was not measured: python -m benchmarks {host_stages.NAME}")
    decoding = median_of(case.runs[host_stages.ONE_PROCESS], "cpu_seconds")
    check = JobSeconds(0.0, decoding, decoding)
    return ServiceTimes(1, 1 / WORKERS_OF_A_CHECKER, check, **seconds)


def _on_a_gpu() -> ServiceTimes:
    newest = kept_pages()[-1]
    tracks = [measured_track(count_cost(name), newest) for name in NETWORKS]
    results = {name: measured(name) for name in submissions.NEEDED}
    check, (public, private) = submissions.jobs(results, tracks, submissions.Scenario())
    seconds = [_seconds_of(job) for job in (check, public, private)]
    return ServiceTimes(PROCESSES_OF_A_GPU, submissions.CHECKING, *seconds)


def _seconds_of(job: Job) -> JobSeconds:
    """A job's stages as one on the GPU and one on the host: those of the GPU come first in all of them."""
    gpu = sum(stage.seconds for stage in job if stage.gpu)
    host = [stage for stage in job if not stage.gpu]
    return JobSeconds(gpu, sum(stage.seconds for stage in host), sum(stage.seconds * stage.cores for stage in host))
