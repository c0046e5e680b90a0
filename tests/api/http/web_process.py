"""A web process of its own, started as `kennel up` does, for tests of what a request costs it."""

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
    """A web process of its own for the service; its process id and port. ``changes``: statements that change limits of
    ``request_bodies`` and ``server_protocol``, which are no settings."""
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
    """Whether a visitor gets an answer."""
    with suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}{API}/competitions", trust_env=False).status_code == 200
    return False


def resident_bytes(pid: int) -> int:
    """The memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
