"""Seconds by the clock and of processors, over all threads and over the processes that were waited for."""

import os
import time
from collections.abc import Callable

from benchmarks.harness.isolation import Run


def timed(act: Callable[[], object]) -> Run:
    """Call a function; ``seconds`` by the clock, ``cpu_seconds`` of processors."""
    cpu, start = _processor_seconds(), time.perf_counter()
    act()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": _processor_seconds() - cpu}


def _processor_seconds() -> float:
    """Of this process and of the children that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
