"""A simulation of processes that take turns on a GPU: how long it waits for the host.

Entries are there from the start. Checking processes decode them one after the other; scoring processes take the public
job of an entry that is checked, else the private one of an entry whose public one is done. A stage of the host runs at
its measured speed as long as there are cores for all, else all slow down alike. A stage of the GPU waits for its turn
and keeps one core busy with launching.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Stage:
    """A part of a job: on the GPU, or on so many ``cores``."""

    seconds: float
    cores: float = 1.0
    gpu: bool = False


Job = Sequence[Stage]
ROUNDING = 1e-9
"""Seconds that are left of a stage by rounding alone."""


@dataclass(frozen=True)
class Machine:
    """Cores and processes beside one GPU."""

    cores: int
    scoring: int
    """Processes that take turns on the GPU."""
    checking: int


@dataclass(frozen=True)
class Outcome:
    """How a simulated run went."""

    idle_share: float
    """Of the GPU, from its first batch to its last."""
    seconds: float
    """From the start until everything was done."""


def simulate(entries: int, check: Job, tracks: Sequence[Job], machine: Machine) -> Outcome:
    """Check and score so many entries, each on all tracks, the first of which is the public one."""
    simulation = _Simulation(entries, [check, *tracks], machine)
    while simulation.advance():
        pass
    idle = 1 - simulation.busy / (simulation.gpu_ended - simulation.gpu_began)
    return Outcome(max(0.0, idle), simulation.now)  # rounding may add up to more than the span


@dataclass
class _Process:
    queues: Sequence[int]
    """Kinds of jobs that it takes, the first of which there is one."""
    kind: int = 0
    stages: deque[Stage] = field(default_factory=deque)
    left: float = 0.0
    """Seconds of its current stage."""


class _Simulation:
    """The state of a run. An entry's jobs are numbered: 0 is its check, and each follows the one before."""

    def __init__(self, entries: int, jobs: Sequence[Job], machine: Machine) -> None:
        self.now = self.busy = self.gpu_ended = 0.0
        self.gpu_began = float("inf")
        self._jobs = jobs
        self._cores = machine.cores
        self._waiting = [entries, *(0 for _ in jobs)]
        """By number of a job: entries that wait for it."""
        checking = [_Process([0]) for _ in range(machine.checking)]
        scoring = [_Process(range(1, len(jobs))) for _ in range(machine.scoring)]
        self._processes = [*checking, *scoring]
        self._turns: deque[_Process] = deque()

    def advance(self) -> bool:
        """Go on to the end of the next stage; False if everything is done."""
        for process in self._processes:
            if not process.stages:
                self._take_job(process)
        running = [each for each in self._processes if each.stages and not self._waits(each)]
        if not running:
            return False
        slowness = max(1.0, sum(each.stages[0].cores for each in running) / self._cores)
        factors = [1.0 if each.stages[0].gpu else slowness for each in running]
        step = min(each.left * factor for each, factor in zip(running, factors, strict=True))
        if self._turns:
            self.busy += step
            self.gpu_began, self.gpu_ended = min(self.gpu_began, self.now), self.now + step
        self.now += step
        for process, factor in zip(running, factors, strict=True):
            process.left -= step / factor
            if process.left <= ROUNDING:
                self._end_stage(process)
        return True

    def _waits(self, process: _Process) -> bool:
        return process.stages[0].gpu and self._turns[0] is not process

    def _take_job(self, process: _Process) -> None:
        kind = next((each for each in process.queues if self._waiting[each]), None)
        if kind is not None:
            self._waiting[kind] -= 1
            process.kind = kind
            process.stages.extend(self._jobs[kind])
            self._begin_stage(process)

    def _begin_stage(self, process: _Process) -> None:
        process.left = process.stages[0].seconds
        if process.stages[0].gpu:
            self._turns.append(process)

    def _end_stage(self, process: _Process) -> None:
        if process.stages.popleft().gpu:
            self._turns.popleft()
        if process.stages:
            self._begin_stage(process)
        else:
            self._waiting[process.kind + 1] += 1
