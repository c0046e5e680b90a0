"""How many threads a process computes with."""

import os
from collections.abc import Mapping

THREADS_VARIABLE = "OMP_NUM_THREADS"
"""OpenMP's own variable, which the libraries of matrix products heed, too."""


def usable_cores() -> int:
    """The cores that this process may use."""
    # Only Linux reports which ones.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def allowed_threads(environ: Mapping[str, str] = os.environ) -> int:
    """The threads that the operator allows, at most one a core; without ``OMP_NUM_THREADS`` one a core."""
    # A list, as OpenMP has it, is for regions within regions: its first number is the outermost one's.
    allowed = environ.get(THREADS_VARIABLE, "").partition(",")[0].strip()
    return min(int(allowed), usable_cores()) if allowed.isdecimal() and int(allowed) else usable_cores()
