"""The fork server of limited processes: the processes' resources, the server's replacement and its end."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from scorer.archive import ImageSpec, limited_listing
from scorer.archive.limited_listing import require_files, require_images
from scorer.confinement import fork_server
from scorer.confinement.fork_server import PREPARED, start_process
from tests.pure.archive.broken_files import pngs, zipped
from tests.worker.forked_processes import forked_processes

SECONDS = 60.0


def main(what: str) -> None:
    """The program of the processes that these tests start, without confinement."""
    if what == "report":
        files = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
        report_of = {
            "server": os.getppid(),
            "files": sorted(file for file in files if Path(f"/proc/self/fd/{file}").exists()),
            "environment": sorted(os.environ),
            "input": sys.stdin.read(),
            "signals": signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(),
        }
        sys.stdout.write(json.dumps(report_of))
    elif what == "crash":
        ctypes.string_at(0)
    elif what == "sleep":
        time.sleep(3600)
    else:
        raise ValueError(what)


def report_of(what: str = "report") -> Any:
    """Start a process and return its output, parsed if it is a report."""
    output = os.memfd_create("output")
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, b"a question")
        os.close(write_end)
        process = start_process(__name__, [what], [read_end, output, output])
        assert process.wait(SECONDS)
        process.close()
        answer = os.pread(output, 1 << 16, 0)
    finally:
        os.close(read_end)
        os.close(output)
    return json.loads(answer) if what == "report" else answer


@pytest.fixture(autouse=True)
def own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A separate server for every test."""
    monkeypatch.setattr(fork_server, "_server", None)


def test_a_process_has_the_given_files_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://kennel:secret@127.0.0.1/kennel")
    answer = report_of()
    assert answer["input"] == "a question"
    assert answer["files"] == [0, 1, 2]
    assert "PYTHONPATH" in answer["environment"]
    assert "DATABASE_URL" not in answer["environment"]
    assert answer["signals"]


def test_one_server_forks_process_after_process() -> None:
    assert report_of()["server"] == report_of()["server"]


def test_a_server_with_a_crashed_process_is_replaced() -> None:
    """The new server has another memory layout. A Python error or a kill reveals nothing of the layout."""
    first = report_of()["server"]
    assert b"ValueError: nonsense" in report_of("nonsense")
    sleeping = start_process(__name__, ["sleep"], [0, 1, 2])
    assert not sleeping.wait(0)
    assert len(forked_processes()) == 1
    assert report_of()["server"] == first
    report_of("crash")
    second = report_of()["server"]
    assert second != first
    assert not sleeping.wait(0), "the earlier server stays for its other processes"
    sleeping.close()
    assert forked_processes() == set()
    assert report_of()["server"] == second


def test_a_killed_server_is_replaced() -> None:
    first = report_of()["server"]
    os.kill(first, signal.SIGKILL)
    assert report_of()["server"] != first


def test_a_service_that_ends_finishes_its_reads() -> None:
    """A terminal and systemd signal all processes, and the web process must finish its requests."""
    server = report_of()["server"]
    reading = start_process(__name__, ["sleep"], [0, 1, 2])
    for process in (server, *forked_processes()):
        os.kill(process, signal.SIGTERM)
        os.kill(process, signal.SIGINT)
    assert report_of()["server"] == server
    assert not reading.wait(0.2)
    reading.close()


def test_a_server_that_does_not_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(RuntimeError, match="did not start a process"):
        report_of()


def test_a_fork_of_the_served_process_has_its_own_server() -> None:
    """For example a process that Celery forks. The parent's server outlives it."""
    first = report_of()["server"]
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writes, str(report_of()["server"]).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reads, 32)) != first
    assert report_of()["server"] == first
    os.close(reads)
    os.close(writes)


def test_server_and_processes_end_with_the_served_process() -> None:
    program = "\n".join(
        (
            "from tests.worker.test_fork_server import report_of, start_process",
            "print(report_of()['server'], flush=True)",
            "start_process('scorer.archive.decoder_process', ['8', '1', '99', '0'], [0, 1, 2, 0]).wait(3600)",
        )
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True)
    assert owner.stdout is not None
    server = psutil.Process(int(owner.stdout.readline()))
    owner.kill()
    owner.communicate()
    gone, alive = psutil.wait_procs([server], timeout=SECONDS)
    assert (len(gone), alive) == (1, [])


def test_uploads_need_no_imports_beyond_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server also imports nothing that uploads don't need, such as torch or the database."""
    calls: list[Any] = []
    monkeypatch.setattr(limited_listing, "call_limited", lambda check, *_, **__: calls.append(check))
    content = zipped([("a.py", b"")])
    require_images(zipped(pngs()), ImageSpec(3, 8), limited=True)
    require_files(content, 100, 1 << 20, limited=True)
    lines = [*(f"import {module}" for module in PREPARED), "import sys", "print(*sys.modules)"]
    command = [sys.executable, "-P", "-s", "-c", "\n".join(lines)]
    imported = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert len(calls) == 2
    assert {check.__module__ for check in calls} <= imported
    assert not {"torch", "sqlalchemy", "scipy"} & imported
