"""The fork server of limited processes: what its processes have, when it is replaced, and that it ends."""

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
    """What a process does that this module's tests start; it is not confined."""
    if what == "tell":
        files = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208
        told = {
            "server": os.getppid(),
            "files": sorted(file for file in files if Path(f"/proc/self/fd/{file}").exists()),
            "environment": sorted(os.environ),
            "input": sys.stdin.read(),
            "signals": signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(),
        }
        sys.stdout.write(json.dumps(told))
    elif what == "crash":
        ctypes.string_at(0)
    elif what == "sleep":
        time.sleep(3600)
    else:
        raise ValueError(what)


def told(what: str = "tell") -> Any:
    """What a process tells on standard output; None for nothing."""
    output = os.memfd_create("output")
    asked, asks = os.pipe()
    try:
        os.write(asks, b"a question")
        os.close(asks)
        process = start_process(__name__, [what], [asked, output, output])
        assert process.wait(SECONDS)
        process.close()
        answer = os.pread(output, 1 << 16, 0)
    finally:
        os.close(asked)
        os.close(output)
    return json.loads(answer) if what == "tell" else answer


@pytest.fixture(autouse=True)
def own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of this test's own."""
    monkeypatch.setattr(fork_server, "_server", None)


def test_a_process_has_the_given_files_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://kennel:secret@127.0.0.1/kennel")
    answer = told()
    assert answer["input"] == "a question"
    assert answer["files"] == [0, 1, 2]
    assert "PYTHONPATH" in answer["environment"]
    assert "DATABASE_URL" not in answer["environment"]
    assert answer["signals"]


def test_one_server_forks_process_after_process() -> None:
    assert told()["server"] == told()["server"]


def test_a_server_whose_process_has_crashed_is_replaced() -> None:
    """The next one has another layout of memory. What fails in Python, or is killed, has learnt nothing."""
    first = told()["server"]
    assert b"ValueError: nonsense" in told("nonsense")
    sleeping = start_process(__name__, ["sleep"], [0, 1, 2])
    assert not sleeping.wait(0)
    assert len(forked_processes()) == 1
    assert told()["server"] == first
    told("crash")
    second = told()["server"]
    assert second != first
    assert not sleeping.wait(0), "the former server stays for its other processes"
    sleeping.close()
    assert forked_processes() == set()
    assert told()["server"] == second


def test_a_killed_server_is_replaced() -> None:
    first = told()["server"]
    os.kill(first, signal.SIGKILL)
    assert told()["server"] != first


def test_a_service_that_is_asked_to_end_reads_what_it_has_begun() -> None:
    """A terminal and systemd ask all of its processes: the web process finishes its requests."""
    server = told()["server"]
    reading = start_process(__name__, ["sleep"], [0, 1, 2])
    for process in (server, *forked_processes()):
        os.kill(process, signal.SIGTERM)
        os.kill(process, signal.SIGINT)
    assert told()["server"] == server
    assert not reading.wait(0.2)
    reading.close()


def test_a_server_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(RuntimeError, match="did not start a process"):
        told()


def test_a_fork_of_the_process_that_it_serves_has_a_server_of_its_own() -> None:
    """As the processes that Celery forks; and the parent's outlives them."""
    first = told()["server"]
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writes, str(told()["server"]).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reads, 32)) != first
    assert told()["server"] == first
    os.close(reads)
    os.close(writes)


def test_server_and_processes_end_with_whom_they_serve() -> None:
    program = "\n".join(
        (
            "from tests.worker.test_fork_server import told, start_process",
            "print(told()['server'], flush=True)",
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


def test_nothing_is_imported_for_an_upload_that_the_server_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the server import what reads no upload: torch, or the database."""
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
