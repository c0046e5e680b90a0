"""Seconds by the clock and of processors, over all threads, over the processes that were waited for, and over those of
fork servers."""

import os
import time
from collections.abc import Callable

import psutil

from benchmarks.harness.isolation import Run
from scorer.confinement import fork_server


def timed(act: Callable[[], object]) -> Run:
    """Call a function; ``seconds`` by the clock, ``cpu_seconds`` of processors."""
    cpu, start = _processor_seconds(), time.perf_counter()
    act()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": _processor_seconds() - cpu}


def _processor_seconds() -> float:
    """Of this process, of the children that it has waited for, and of its limited processes."""
    spent = os.times()
    waited_for = spent.children_user + spent.children_system
    return spent.user + spent.system + waited_for + forked_seconds(psutil.Process())


def forked_seconds(owner: psutil.Process) -> float:
    """Processor seconds so far of a process's fork server, and of the processes of it that have ended."""
    seconds = 0.0
    for child in owner.children():
        try:
            if fork_server.__name__ in child.cmdline():
                seconds += sum(child.cpu_times()[:4])
        except psutil.Error:
            continue
    return seconds
