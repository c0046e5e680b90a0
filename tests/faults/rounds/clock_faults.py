"""Clock faults, made with Debian's ``faketime``: a process starts with a wrong clock, or its clock steps later."""

import signal
import time
from collections.abc import Callable
from functools import partial

from tests.faults.rounds.situation import Situation, Skipped
from tests.faults.rounds.stack import FAKETIME, MEMORY, WORKERS


def wrong_clock(sign: str, situation: Situation) -> None:
    """Set the clock of the web process or of a worker wrong by minutes.

    With a wrong clock at its start, the process refuses to run until the clock is right. If the clock steps later, the
    process continues and uses the database's clock where time matters.
    """
    if not FAKETIME.exists():
        raise Skipped("a wrong clock needs Debian's package faketime")
    stack = situation.stack
    name = situation.rng.choice(("api", *WORKERS))
    steps_later = situation.rng.random() < 0.6
    minutes = situation.rng.choice((1, 2, 10))
    file = stack.folder / f"clock-{name}"
    file.write_text("+0" if steps_later else f"{sign}{minutes}m")
    faked = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    environment = stack.environments[name]
    environment.update(faked)
    try:
        stack.send_signal(name, signal.SIGKILL)
        situation.reach(("receiving", "accepted", "checking", "scoring"))
        file.write_text(f"{sign}{minutes}m")
        end = time.monotonic() + situation.outage + 2
        while time.monotonic() < end:
            stack.forgive_crashes()
            time.sleep(0.2)
    finally:
        for variable in faked:
            del environment[variable]
        pids = [process.pid for process in stack.processes(name)]
        stack.send_signal(name, signal.SIGKILL)
        for pid in pids:
            for left in MEMORY.glob(f"*faketime*_{pid}"):
                left.unlink()
    situation.log.append(f"clock of {name} {sign}{minutes} min {'stepping' if steps_later else 'from its start'}")


KINDS: dict[str, Callable[[Situation], None]] = {
    "clock-ahead": partial(wrong_clock, "+"),
    "clock-behind": partial(wrong_clock, "-"),
}
