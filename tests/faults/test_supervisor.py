"""The supervisor: start order, log, crashes, and no process left behind. Children are small shell scripts."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from deploy.standalone import service
from deploy.standalone import supervisor as supervisor_module
from deploy.standalone.child_process import Child, ChildProcess, RestartPolicy
from deploy.standalone.log import Log
from deploy.standalone.supervisor import SAME_INTERRUPT_SECONDS, Supervisor
from scorer.errors import Unavailable
from scorer.lifecycle import SWEEP_QUEUE, UPLOADS_QUEUE, Queue
from scorer.process_resources import THREADS_VARIABLE

REPOSITORY = Path(__file__).parents[2]
# Prints what it receives, ends at SIGTERM, and loops in short sleeps so that traps run soon.
POLITE = 'trap "echo down; exit 0" TERM; trap "echo interrupted" INT; echo up; while :; do sleep 0.02; done'
DEAF = 'trap "" TERM QUIT; echo up; while :; do sleep 0.02; done'


def shell(name: str, script: str, log: io.StringIO | None = None, **options: object) -> Child:
    """A child that runs ``script``. With ``log``, it is ready once it has printed 'up' there."""
    ready: Callable[[], bool] | None = None
    if log is not None:
        pattern = re.compile(rf"^{name} +\| up$", re.MULTILINE)
        ready = lambda: pattern.search(log.getvalue()) is not None  # noqa: E731
    return Child(name, ["/bin/sh", "-c", script], ready=ready, **options)  # type: ignore[arg-type]


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def soon(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether ``condition`` comes true within ``seconds``."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


# --- order and log


def test_files_of_a_part_are_private_to_its_account(tmp_path: Path) -> None:
    with Supervisor(Log(None)) as supervisor:
        supervisor.run([shell("writer", f"mkdir {tmp_path}/folder; echo x > {tmp_path}/file; exit 3")])
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("folder", "file")] == [0o700, 0o600]


def test_parts_start_in_order_and_stop_in_reverse() -> None:
    out = io.StringIO()
    with Supervisor(Log(out)) as supervisor:
        for name in ("first", "second", "third"):
            supervisor.start(shell(name, POLITE, out))
    assert [line.replace(" ", "") for line in out.getvalue().splitlines()] == [
        "first|up",
        "second|up",
        "third|up",
        "third|down",
        "second|down",
        "first|down",
    ]


def test_workers_have_a_lower_priority_than_the_web_process(tmp_path: Path) -> None:
    assert {child.name: child.niceness for child in service.service_children({}, tmp_path, 1)} == {
        "api": 0,
        "checker": service.WORKER_NICENESS,
        "scorer": service.WORKER_NICENESS,
        "beat": 0,
    }
    out = io.StringIO()
    own = os.nice(0)
    with Supervisor(Log(out)) as supervisor:
        supervisor.start(shell("part", "nice; echo up; sleep 60", out, niceness=3))
    assert out.getvalue().split() == ["part", "|", str(own + 3), "part", "|", "up"]


def test_a_worker_with_a_gpu_only_scores(tmp_path: Path) -> None:
    children = {child.name: child for child in service.service_children({"KENNEL_DEVICE": "cuda:1"}, tmp_path, 1)}

    def options(name: str) -> tuple[set[str], str, str]:
        argv = [str(word) for word in children[name].argv]
        device = (children[name].env or {})["KENNEL_DEVICE"]
        return set(argv[argv.index("-Q") + 1].split(",")), argv[argv.index("--concurrency") + 1], device

    assert options("scorer") == ({"score", "prepare", "compare", "rescore"}, "2", "cuda:1")
    assert options("analyst") == ({"draw", "release", "ratings", "evidence", "recover"}, "1", "cpu")
    taken = [queue for name in ("checker", "scorer", "analyst") for queue in options(name)[0]]
    assert sorted(taken) == sorted([*Queue, SWEEP_QUEUE, UPLOADS_QUEUE])


def test_workers_share_the_cores_with_a_gpu_worker_unless_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))

    def threads(**environment: str) -> dict[str, str | None]:
        children = service.service_children(environment, tmp_path, 1)
        return {child.name: (child.env or {}).get(THREADS_VARIABLE) for child in children}

    assert threads(KENNEL_DEVICE="cuda") == {"api": None, "checker": None, "scorer": "4", "analyst": "8", "beat": None}
    assert set(threads(KENNEL_DEVICE="cuda", OMP_NUM_THREADS="3").values()) == {"3"}
    assert set(threads().values()) == {None}, "a single worker uses all cores"


def test_lines_stay_whole_and_aligned_if_parts_write_concurrently() -> None:
    out = io.StringIO()
    count = 2000
    talk = f"i=0; while [ $i -lt {count} ]; do echo word $i of $0; i=$((i+1)); done; echo up; sleep 60"
    with Supervisor(Log(out)) as supervisor:
        for name in ("api", "worker"):
            supervisor.start(Child(name, ["/bin/sh", "-c", talk, name]))
        assert soon(lambda: out.getvalue().count("| up") == 2)
    for name in ("api", "worker"):
        mine = [line for line in out.getvalue().splitlines() if line.startswith(name)]
        assert mine[:count] == [f"{name:<10} | word {i} of {name}" for i in range(count)]


def test_standard_error_is_logged_and_a_last_line_needs_no_newline(tmp_path: Path) -> None:
    out = io.StringIO()
    started = tmp_path / "started"
    # A part that ends before `start` has checked it counts as failed.
    script = f"while [ ! -e {started} ]; do sleep 0.02; done; echo wrong >&2; printf unfinished"
    with Supervisor(Log(out)) as supervisor:
        supervisor.start(Child("part", ["/bin/sh", "-c", script], restart=True))
        started.touch()
        assert soon(lambda: "unfinished" in out.getvalue())
    assert out.getvalue().splitlines()[:2] == ["part       | wrong", "part       | unfinished"]


def test_the_output_of_a_part_does_not_control_the_terminal() -> None:
    out = io.StringIO()
    Log(out).line("api", "a \x1b[2Jname\r\tand more")
    assert out.getvalue() == "api        | a \\x1b[2Jname\\x0d\tand more\n"


def test_a_closed_log_reader_does_not_stop_the_parts(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    mark = tmp_path / "mark"
    with os.fdopen(write, "w") as out, Supervisor(Log(out)) as supervisor:
        script = f"i=0; while [ $i -lt 3000 ]; do echo {'x' * 100}; i=$((i+1)); done; touch {mark}; sleep 60"
        supervisor.start(Child("part", ["/bin/sh", "-c", script]))
        assert soon(mark.exists)
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)  # the buffer is written when the file is closed


# --- a start that fails


def test_a_part_that_ends_before_it_is_ready_is_reported_by_its_last_line() -> None:
    child = Child("api", ["/bin/sh", "-c", "echo cannot import x; exit 3"], ready=lambda: False, restart=True)
    with (
        Supervisor(Log(None)) as supervisor,
        pytest.raises(Unavailable, match=r"^api ended with status 3 before .*last line: cannot import x$"),
    ):
        supervisor.start(child)


def test_a_missing_program_is_reported_in_one_sentence() -> None:
    with (
        Supervisor(Log(None)) as supervisor,
        pytest.raises(Unavailable, match="cannot execute /no/such: No such file"),
    ):
        supervisor.start(Child("api", ["/no/such"], ready=lambda: False))


def test_a_part_that_is_never_ready_is_ended() -> None:
    out = io.StringIO()
    child = Child("api", ["/bin/sh", "-c", POLITE], ready=lambda: False, ready_timeout=0.2)
    with Supervisor(Log(out)) as supervisor, pytest.raises(Unavailable, match=r"^api was not ready within 0.2 s"):
        supervisor.start(child)
    assert "down" in out.getvalue()


# --- crashes


def test_a_part_that_crashes_is_started_again(tmp_path: Path) -> None:
    out = io.StringIO()
    count = tmp_path / "count"
    script = f"echo >> {count}; [ $(wc -l < {count}) -gt 2 ] || exit 3; echo up; exec sleep 60"
    with Supervisor(Log(out), first_delay=0.01) as supervisor:
        supervisor.start(shell("worker", script, restart=True))
        assert soon(lambda: "| up" in out.getvalue())
        assert supervisor.failure is None
    assert out.getvalue().count("kennel     | worker ended with status 3; restarting it") == 2


def test_a_part_that_keeps_crashing_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "RestartPolicy", lambda first: RestartPolicy(first, longest=0.01))
    out = io.StringIO()
    with Supervisor(Log(out), first_delay=0.001) as supervisor:
        supervisor.start(shell("api", POLITE, out))
        supervisor.start(shell("worker", "exit 3", restart=True))
        assert soon(lambda: out.getvalue().count("worker ended with status 3; restarting it") >= 8)
        assert supervisor.failure is None
        assert "down" not in out.getvalue()


def test_a_restart_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = io.StringIO()
    tries: list[str] = []

    def started(child: Child, *how: Any) -> ChildProcess:
        tries.append(child.name)
        if len(tries) == 2:
            raise OSError("Resource temporarily unavailable")
        return ChildProcess(child, *how)

    monkeypatch.setattr(supervisor_module, "ChildProcess", started)
    once = tmp_path / "once"
    script = f"[ -e {once} ] || {{ touch {once}; exit 3; }}; echo up; exec sleep 60"
    with Supervisor(Log(out), first_delay=0.001) as supervisor:
        supervisor.start(shell("worker", script, restart=True))
        assert soon(lambda: "| up" in out.getvalue())
    assert "worker could not be started: Resource temporarily unavailable; restarting it" in out.getvalue()


def test_a_crash_of_a_required_part_ends_everything() -> None:
    out = io.StringIO()
    with Supervisor(Log(out)) as supervisor:
        status = supervisor.run([shell("api", POLITE, out), shell("postgres", "kill -9 $$")])
    assert status == 1
    assert supervisor.failure == "postgres was ended by SIGKILL, and Kennel cannot continue without it."
    assert out.getvalue().endswith("api        | down\n")


def test_processes_that_a_crashed_part_started_end_with_it(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with Supervisor(Log(None)) as supervisor:
        supervisor.run([shell("worker", f"sleep 60 & echo $! > {file}; exit 1")])
    assert not lives(int(file.read_text()))


def test_restart_delays_double_to_a_minute_and_reset_after_a_good_run() -> None:
    restarts = RestartPolicy()
    delays = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert [restarts.delay(1.0) for _ in delays] == delays
    assert [restarts.delay(61.0), restarts.delay(1.0)] == [0.5, 1.0]


# --- stopping


def test_a_part_that_ignores_its_stop_signal_is_killed() -> None:
    out = io.StringIO()
    with Supervisor(Log(out)) as supervisor:
        supervisor.start(shell("worker", DEAF.replace(" QUIT", ""), out, stop_timeout=0.1))
    assert "kennel     | worker did not stop within 0.1 s and was killed." in out.getvalue()


def test_each_part_has_its_own_session_and_stop_may_be_called_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with Supervisor(Log(None)) as supervisor:
        supervisor.start(shell("api", f"echo $$ > {file}; {POLITE}"))
        assert soon(lambda: file.exists() and file.read_text())
        pid = int(file.read_text())
        assert (os.getsid(pid), os.getpgid(pid)) == (pid, pid)
        other = threading.Thread(target=supervisor.stop)
        other.start()
        assert supervisor.run() == 0
        other.join()
        assert not lives(pid)


# --- the runner as a separate process, like `kennel up`

RUNNER = """
import sys
from deploy.standalone.log import Log
from deploy.standalone.child_process import Child
from deploy.standalone.supervisor import Supervisor
names, scripts, timeout = sys.argv[1].split(","), sys.argv[3:], float(sys.argv[2])
with Supervisor(Log(sys.stdout), signals=True) as supervisor:
    sys.exit(supervisor.run(
        Child(name, ["/bin/sh", "-c", script], stop_timeout=timeout) for name, script in zip(names, scripts)
    ))
"""


class Runner:
    """The runner in its own process group. ``lines`` is its output so far."""

    def __init__(self, *scripts: str, timeout: float = 10.0) -> None:
        names = ",".join(["one", "two", "three"][: len(scripts)])
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNNER, names, str(timeout), *scripts],
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        wanted = len(scripts)
        assert soon(lambda: sum(line.endswith("| up") for line in self.lines) == wanted), self.lines
        self.tree = psutil.Process(self.process.pid).children(recursive=True)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as pipe:
            for line in pipe:
                self.lines.append(line.rstrip("\n"))

    def end(self) -> int:
        status = self.process.wait(timeout=20)
        self._reader.join(timeout=5)
        return status

    def left(self) -> list[str]:
        """The processes of the initial tree that still live."""
        return [repr(process) for process in self.tree if lives(process.pid)]


WITH_FAMILY = "(trap '' TERM INT HUP; sleep 300 & wait) & " + POLITE


@pytest.fixture
def run() -> Iterator[Callable[..., Runner]]:
    """Starts runners, and kills their processes even if the test fails."""
    made: list[Runner] = []

    def start(*scripts: str, timeout: float = 10.0) -> Runner:
        made.append(Runner(*scripts, timeout=timeout))
        return made[-1]

    yield start
    for runner in made:
        runner.process.kill()
        for process in runner.tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()  # psutil compares creation times, so it kills no other process
        runner.end()


def test_sigterm_ends_the_whole_tree_with_status_0(run: Callable[..., Runner]) -> None:
    runner = run(WITH_FAMILY, POLITE)
    runner.process.terminate()
    assert runner.end() == 0
    assert runner.left() == []
    assert [line for line in runner.lines if "down" in line] == ["two        | down", "one        | down"]


def test_ctrl_c_only_reaches_the_runner_which_stops_in_order(run: Callable[..., Runner]) -> None:
    runner = run(POLITE, POLITE)
    os.killpg(runner.process.pid, signal.SIGINT)  # as a terminal does
    assert runner.end() == 0
    assert runner.left() == []
    assert runner.lines[-3:] == [
        "kennel     | stopping (press Ctrl-C again to kill).",
        "two        | down",
        "one        | down",
    ]
    assert not any("interrupted" in line for line in runner.lines)


def test_a_second_ctrl_c_kills(run: Callable[..., Runner]) -> None:
    runner = run(POLITE, DEAF, timeout=300.0)
    runner.process.send_signal(signal.SIGINT)
    assert soon(lambda: "stopping" in runner.lines[-1])
    time.sleep(SAME_INTERRUPT_SECONDS + 0.05)  # the first one came before its log line
    runner.process.send_signal(signal.SIGINT)
    assert runner.end() == 0
    assert runner.left() == []


def test_only_a_later_ctrl_c_counts_as_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    out = io.StringIO()
    with Supervisor(Log(out)) as supervisor:
        supervisor.start(shell("worker", DEAF.replace(" QUIT", ""), out, stop_timeout=300.0))
        monkeypatch.setattr("deploy.standalone.supervisor.time", SimpleNamespace(monotonic=lambda: clock[0]))
        running = supervisor._parts[0].running
        assert running is not None
        killed: list[float] = []
        kill = running.kill

        def recorded_kill() -> None:
            killed.append(clock[0])
            kill()

        monkeypatch.setattr(running, "kill", recorded_kill)
        with pytest.raises(KeyboardInterrupt):
            supervisor._interrupt(signal.SIGINT, None)
        for signum, seconds in ((signal.SIGINT, 0.2), (signal.SIGTERM, 9.0), (signal.SIGHUP, 9.0)):
            clock[0] = 100.0 + seconds
            supervisor._interrupt(signum, None)
        assert killed == []
        clock[0] = 110.0
        supervisor._interrupt(signal.SIGINT, None)
        assert killed == [110.0]
        assert running.ended.wait(60)


def test_a_killed_runner_leaves_nothing_behind(run: Callable[..., Runner]) -> None:
    runner = run(WITH_FAMILY, POLITE)
    assert len(runner.tree) >= 5  # the guard, two parts, and the children of the first
    runner.process.kill()
    assert runner.end() == -signal.SIGKILL
    assert soon(lambda: runner.left() == []), runner.left()


def test_a_runner_killed_with_its_guard_leaves_no_part_behind(run: Callable[..., Runner]) -> None:
    runner = run("echo up; exec sleep 300")
    guard = next(process for process in runner.tree if "watchdog.py" in " ".join(process.cmdline()))
    guard.kill()
    runner.process.kill()
    runner.end()
    assert soon(lambda: runner.left() == []), runner.left()
