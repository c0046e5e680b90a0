"""How threads of OpenMP wait for each other, in processes that run networks."""

import os


def wait_passively() -> None:
    """Let waiting threads sleep, unless the environment says otherwise; to be called before torch is loaded.

    By default they spin, which gains a little on idle cores. Where another process is at work on the same cores, a
    spinning thread holds up the very thread that it waits for, and a network becomes several times slower.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
