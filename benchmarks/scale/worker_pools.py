"""Workers that wait no real time: they claim jobs of the real queue, and are done after a job's service time."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil

from benchmarks.scale.service_times import JobSeconds, ServiceTimes
from scorer.jobs.leases import Claim
from scorer.lifecycle import Queue


@dataclass
class Device:
    """What the processes of one worker take turns on: its GPU, or its processors."""

    free_at: float = 0.0
    busy: list[tuple[float, float]] = field(default_factory=list)
    """The times from and to which it was busy, in order."""


@dataclass(frozen=True)
class WorkerProcess:
    """A process that takes one job at a time."""

    name: str
    device: Device

    def finish(self, seconds: JobSeconds, now: float) -> float:
        """When a job that is claimed ``now`` is done: the device first, once it is free, then the host."""
        if not seconds.gpu:
            self.device.busy.append((now, now + seconds.host))
            return now + seconds.host
        begun = max(now, self.device.free_at)
        self.device.free_at = begun + seconds.gpu
        self.device.busy.append((begun, self.device.free_at))
        return self.device.free_at + seconds.host


@dataclass
class WorkerPool:
    """The processes that take from one queue, and which of them are free."""

    queue: Queue
    seconds: Callable[[Claim], JobSeconds]
    devices: Sequence[Device]
    free: deque[WorkerProcess]


def worker_pools(times: ServiceTimes, workers: int) -> tuple[WorkerPool, WorkerPool]:
    """The processes that check and those that score."""
    checkers = [Device() for _ in range(ceil(workers * times.checkers_by_worker))]
    scorers = [Device() for _ in range(workers)]
    return (
        _pool(Queue.CHECK, lambda _: times.check, checkers, 1),
        _pool(Queue.SCORE, lambda claim: times.public if claim.public else times.private, scorers, times.processes),
    )


def _pool(
    queue: Queue, seconds: Callable[[Claim], JobSeconds], devices: Sequence[Device], processes: int
) -> WorkerPool:
    names = ((number, turn) for turn in range(processes) for number in range(len(devices)))
    free = deque(WorkerProcess(f"{queue}-{number}:{turn}", devices[number]) for number, turn in names)
    return WorkerPool(queue, seconds, devices, free)


def busy_share(devices: Sequence[Device], begin: float, end: float) -> float:
    """The share of the time from ``begin`` to ``end`` in which devices were busy."""
    inside = (max(0.0, min(to, end) - max(since, begin)) for device in devices for since, to in device.busy)
    return sum(inside) / (len(devices) * (end - begin))
