"""A separate web process, started as `kennel up` starts it, for tests that measure its cost."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import httpx

from deploy.standalone.commands import web_command
from deploy.standalone.ports import free_port
from tests.api.conftest import API, Service
from tests.conftest import addresses

START = """import runpy, sys
from api.http import request_bodies, server_protocol
{}
sys.argv = ["uvicorn", *sys.argv[1:]]
runpy.run_module("uvicorn", run_name="__main__")"""


@contextmanager
def web_process(
    service: Service, folder: Path, *, changes: Sequence[str] = (), **variables: str
) -> Iterator[tuple[int, int]]:
    """Run a separate web process for the service and yield its process id and port. ``changes`` are statements that
    change limits of ``request_bodies`` and ``server_protocol``, which are not settings."""
    environment = {**os.environ, **addresses(service.context.settings), **variables}
    port = free_port()
    command = web_command("127.0.0.1", port, 1)
    if changes:
        command = (sys.executable, "-c", START.format("\n".join(changes)), *command[3:])
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stderr=log, env=environment) as web,
    ):
        try:
            deadline = monotonic() + 120
            while not is_answered(port):
                assert web.poll() is None
                assert monotonic() < deadline
                sleep(0.1)
            yield web.pid, port
        finally:
            web.terminate()


def is_answered(port: int) -> bool:
    """Whether a visitor gets a response."""
    with suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}{API}/competitions", trust_env=False).status_code == 200
    return False


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
