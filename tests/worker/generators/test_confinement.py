"""A confined process as root and as an ordinary user, with all measures and without one of them."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psutil
import pytest

from scorer.confinement import bubblewrap, landlock
from scorer.confinement.import_path import IMPORT_PATH
from scorer.confinement.privileges import FIRST_USER, USERS
from scorer.confinement.process import REQUIRED, missing_measures

SCRIPT = Path(__file__).with_name("escape_attempts.py")
ORDINARY = 61_499
"""A user without a name, with only the processes of these tests."""
OWN = {"own-result": "done", "own-read": "done", "own-signal": "done", "own-limits": "done"}
LIMITED = {"too-large": "EFBIG", "memory": "MemoryError"}
ON_FILES = {"read", "read-system", "write", "create", "truncate", "open-truncating", "remove", "rename"}
ON_MODES = {"mode", "mode-raw", "owner", "times", "attribute"}
OF_ITS_USER = {"environment", "memory-of-another"}
"""Readable in ``/proc`` for processes of the same user."""
WITH_PIDS = {"signal", "limits", "trace", "process-descriptor", "signal-by-descriptor", "environment"}
AS_ROOT = [pytest.param("root", marks=pytest.mark.root)]
SERVER = """
import socket, time
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
time.sleep(600)
"""


@dataclass
class Site:
    """The place of the attempts: the process's own folder, a folder open to everybody, and another process."""

    python: str
    user: int | None
    root: Path
    process: int = 0
    port: int = 0
    environment: dict[str, str] = field(default_factory=lambda: {"PYTHONPATH": IMPORT_PATH, "SECRET": "s3cret"})

    @property
    def own(self) -> Path:
        return self.root / "own"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @contextmanager
    def server(self, script: str = SERVER) -> Iterator[None]:
        """Run the attacked process, of the same user, during the block."""
        command = [self.python, "-P", "-c", script]
        with subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, text=True, user=self.user, cwd="/"
        ) as process:
            assert process.stdout is not None
            before = self.process, self.port
            self.process, self.port = process.pid, int(process.stdout.readline())
            yield
            self.process, self.port = before
            process.kill()

    def _lay_out(self) -> None:
        """Restore both folders to their initial state."""
        shutil.rmtree(self.own, ignore_errors=True)
        shutil.rmtree(self.outside, ignore_errors=True)
        for folder, mode in ((self.root, 0o755), (self.own, 0o700), (self.outside, 0o777)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        for name in ("own/input", "own/result", "outside/victim", "outside/spare"):
            (self.root / name).write_text("something")
            (self.root / name).chmod(0o666)
        if self.user is not None:
            for path in (self.root, *self.root.rglob("*")):
                os.chown(path, self.user, self.user)

    def run(
        self, *, without: tuple[str, ...] = (), only: tuple[str, ...] = (), threads: int = 8, wrapped: bool = False
    ) -> dict[str, Any]:
        self._lay_out()
        request = {"folder": str(self.own), "outside": str(self.outside), "process": self.process, "port": self.port}
        request |= {"without": without, "only": only, "threads": threads}
        command = [self.python, "-P", str(SCRIPT), json.dumps(request)]
        if wrapped:
            command = bubblewrap.wrapped(command, self.own)
        done = subprocess.run(
            command, env=self.environment, user=self.user, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        outcomes: dict[str, Any] = json.loads(done.stdout)
        return outcomes


def _runs(python: str, user: int | None) -> bool:
    """Whether the user may run this interpreter and it is recent enough."""
    command = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    try:
        return subprocess.run(command, user=user, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture(scope="module", params=[*AS_ROOT, "ordinary"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    user = ORDINARY if os.geteuid() == 0 and request.param == "ordinary" else None
    python = next((path for path in (sys.executable, "/usr/bin/python3") if _runs(path, user)), None)
    if python is None:
        pytest.skip("an ordinary user can't run any of this machine's interpreters")
    root = Path(mkdtemp(prefix="kennel-escape-"))
    found = Site(python, user, root)
    with found.server():
        yield found
    shutil.rmtree(root)


def needs_landlock() -> None:
    if landlock.version() == 0:
        pytest.skip("this kernel has no Landlock")


def done_in(outcomes: dict[str, str]) -> set[str]:
    return {name for name, outcome in outcomes.items() if outcome == "done"}


def test_no_escape_succeeds(site: Site) -> None:
    needs_landlock()
    found = site.run()
    assert missing_measures(found["measures"]) == []
    assert done_in(found["outcomes"]) == set(OWN)
    assert OWN.items() | LIMITED.items() <= found["outcomes"].items()
    assert 8 <= found["threads"] < 200
    assert (site.outside / "victim").read_text() == "something"
    if site.user is None and os.geteuid() == 0:
        assert FIRST_USER <= found["user"] < FIRST_USER + USERS


def test_the_filter_alone_allows_reading_and_writing_files(site: Site) -> None:
    """Without Landlock and namespace, modes, owners, times, sockets, programs and other processes stay protected."""
    found = site.run(without=("file_access", "network_namespace"))
    assert missing_measures(found["measures"]) == [REQUIRED["file_access"]]
    possible = {"read", "read-system", "write", "create", "own-new-file", "own-input", "list-processes"}
    possible |= set() if found["user"] in range(FIRST_USER, FIRST_USER + USERS) else OF_ITS_USER
    assert done_in(found["outcomes"]) - set(OWN) <= possible


def test_an_own_namespace_protects_processes_of_the_same_user(site: Site) -> None:
    found = site.run(without=("file_access",))
    if not found["measures"]["network_namespace"]:
        pytest.skip("this system gives ordinary users no namespaces")
    assert done_in(found["outcomes"]) & OF_ITS_USER == set()


def test_a_process_hides_its_own_memory(site: Site) -> None:
    """The process that runs a generator hides its memory, without Landlock or a namespace."""
    with site.server("from scorer.confinement.privileges import hide_memory; hide_memory()" + SERVER):
        found = site.run(without=("file_access", "network_namespace"))
    assert done_in(found["outcomes"]) & OF_ITS_USER == set()


def test_landlock_alone_prevents_opening_and_emptying_files(site: Site) -> None:
    needs_landlock()
    found = site.run(without=("system_call_filter",))
    outcomes = found["outcomes"]
    assert missing_measures(found["measures"]) == [REQUIRED["system_call_filter"]]
    closed = ON_FILES | {"link", "symbolic-link", "pipe", "folder", "own-new-file", "own-input", "list-processes"}
    closed |= {"connect", "environment", "memory-of-another", "mount", "user", "trace"}
    if landlock.version() < 3:
        closed -= {"truncate", "open-truncating"}
    assert done_in(outcomes) & closed == set()
    if landlock.version() >= 6:
        assert outcomes["signal"] == "EPERM"


@pytest.mark.parametrize("site", AS_ROOT, indirect=True)
def test_root_that_stays_root_is_reported(site: Site) -> None:
    measures = site.run(without=("unprivileged_user",))["measures"]
    assert missing_measures(measures) == [REQUIRED["unprivileged_user"]]
    assert measures["no_capabilities"]


def test_the_attempts_succeed_without_confinement(site: Site) -> None:
    """Without confinement the attempts succeed. Attempts that would change the machine are left out."""
    harmless = ON_FILES - {"remove"} | ON_MODES | WITH_PIDS | {"connect", "socket", "program", "fork", "link", "pipe"}
    found = site.run(only=tuple(sorted(harmless)))
    assert {name: outcome for name, outcome in found.items() if outcome != "done"} == {}


def test_bubblewrap_makes_disks_read_only(site: Site) -> None:
    """It is the second line of defence, so the filter and Landlock are off here."""
    if bubblewrap.wrapped(["true"], site.own) == ["true"]:
        pytest.skip("bubblewrap is not installed, or can't make namespaces here")
    found = site.run(without=("file_access", "system_call_filter"), wrapped=True)
    assert found["measures"]["read_only_disks"]
    open_ = done_in(found["outcomes"])
    assert open_ & (ON_FILES - {"read", "read-system"} | ON_MODES | WITH_PIDS | {"connect", "mount"}) == set()


def test_bubblewrap_is_used_if_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command = ["program", "argument"]
    assert bubblewrap.wrapped(command, tmp_path) == command, "not installed"
    for status, expected in ((1, command), (0, [str(tmp_path / "works" / "bwrap")])):
        folder = tmp_path / ("works" if status == 0 else "fails")
        folder.mkdir()
        (folder / "bwrap").write_text(f"#!/bin/sh\nexit {status}\n")
        (folder / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        found = bubblewrap.wrapped(command, tmp_path)
        assert found[: len(expected)] == expected
        assert found[-2:] == command


def test_a_process_of_several_threads_is_not_confined(site: Site) -> None:
    script = """
    import threading
    from scorer.confinement.process import confine
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    try:
        confine(open_files=10)
    except RuntimeError as error:
        print(error)
    """
    command = [site.python, "-P", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, env=site.environment, capture_output=True, text=True, check=True)
    assert "only a process with a single thread" in done.stdout


def test_a_confined_process_ends_with_its_killed_parent(site: Site) -> None:
    """A killed worker must leave no process that runs for hours."""
    child = """
    import time
    from scorer.confinement.process import confine
    confine(open_files=10)
    print("confined", flush=True)
    time.sleep(600)
    """
    parent = f"""
    import subprocess, sys
    started = subprocess.Popen([sys.executable, "-P", "-c", {textwrap.dedent(child)!r}], stdout=subprocess.PIPE)
    started.stdout.readline()
    print(started.pid, flush=True)
    started.wait()
    """
    with subprocess.Popen(
        [site.python, "-c", textwrap.dedent(parent)],
        env=site.environment,
        stdout=subprocess.PIPE,
        text=True,
        user=site.user,
        cwd="/",
    ) as process:
        assert process.stdout is not None
        confined = psutil.Process(int(process.stdout.readline()))
        process.kill()
    gone, alive = psutil.wait_procs([confined], timeout=30)
    assert (len(gone), alive) == (1, [])


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, (0, 0, 0)),
        (1, (0x1FFF, 0, 0)),
        (2, (0x3FFF, 0, 0)),
        (3, (0x7FFF, 0, 0)),
        (4, (0x7FFF, 3, 0)),
        (5, (0xFFFF, 3, 0)),
        (6, (0xFFFF, 3, 3)),
        (9, (0xFFFF, 3, 3)),
    ],
)
def test_every_right_of_the_kernels_version_is_removed(version: int, expected: tuple[int, int, int]) -> None:
    assert landlock.list_rights(version) == expected
