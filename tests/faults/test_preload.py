"""Parts that are forked from the preloaded process equal parts that are executed."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from deploy.standalone.child_process import Child
from deploy.standalone.log import Log
from deploy.standalone.supervisor import Supervisor
from scorer.confinement.import_path import IMPORT_PATH
from scorer.errors import Unavailable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
ENVIRONMENT = {"PATH": os.defpath, "PYTHONPATH": IMPORT_PATH, "LC_ALL": "C.UTF-8"}
PART = Child(
    "part",
    [sys.executable, "-m", "tests.faults.reporting_part", "one", "two"],
    env={**ENVIRONMENT, "OWN": "x"},
    cwd=Path("/"),
    niceness=3,
    preloaded=True,
)


def preloading(prepared: str) -> Child:
    command = [sys.executable, "-m", "deploy.standalone.preload", prepared]
    return Child("kennel", command, env={**ENVIRONMENT, "OTHER": "y"}, cwd=Path("/"))


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def reports(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines() if line.startswith('{"part": "part"')]


def test_a_forked_part_equals_its_restart_without_the_preload() -> None:
    out = io.StringIO()
    with Supervisor(Log(out), first_delay=0.01) as supervisor:
        supervisor.preload(preloading("json,gc:collect"))
        supervisor.start(replace(PART, restart=True))
        until(lambda: reports(out))
        supervisor.end_preload()
        forked = supervisor._parts[0].running
        assert forked is not None
        assert b"OTHER=y" in Path(f"/proc/{forked.pid}/environ").read_bytes()
        os.kill(forked.pid, signal.SIGKILL)
        until(lambda: len(reports(out)) == 2)
    first, second = reports(out)
    assert "part was ended by SIGKILL; restarting it" in out.getvalue()
    assert first == second
    assert (first["parent"], first["leads"]) == (os.getpid(), [True, True])


def test_a_failing_module_is_reported_with_its_last_line() -> None:
    with Supervisor(Log(None)) as supervisor:
        supervisor.preload(preloading("no_such_module"))
        with pytest.raises(Unavailable, match=r"^part could not be started; .*No module named 'no_such_module'"):
            supervisor.start(PART)


RUNNER = """
from tests.faults.test_preload import *
with Supervisor(Log(sys.stdout)) as supervisor:
    supervisor.preload(preloading("json"))
    supervisor.start(PART)
    supervisor.end_preload()
    supervisor.run()
"""


def test_a_runner_killed_with_its_guard_leaves_no_forked_part_behind() -> None:
    with subprocess.Popen([sys.executable, "-c", RUNNER], env=ENVIRONMENT, stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline().startswith(b'{"part": "part"')
        try:
            tree = until(lambda: len(tree := psutil.Process(runner.pid).children(recursive=True)) == 2 and tree)
            (guard,) = (process for process in tree if "watchdog.py" in " ".join(process.cmdline()))
            (part,) = (process for process in tree if process != guard)
            guard.kill()
        finally:
            runner.kill()
    until(lambda: not part.is_running() or part.status() == psutil.STATUS_ZOMBIE)
