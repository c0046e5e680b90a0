"""TLS between the proxy and the web process, both with the settings of docker-compose.tls.yml, over loopback."""

import os
import resource
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest

from api.http.server_protocol import MAX_CONNECTIONS_PER_ADDRESS
from deploy.standalone.commands import web_command
from deploy.standalone.ports import free_port
from scorer.process_resources import raise_open_files_limit
from scorer.settings import Settings
from tests.compose.compose_file import MAIN, ROOT, read
from tests.conftest import addresses
from tests.http_server import self_signed_certificate

LINKED = read(MAIN, "docker-compose.tls.yml")["services"]
PATIENCE = 60.0


@contextmanager
def running(command: tuple[str, ...], log: Path, **environment: str) -> Iterator[int]:
    """Run a process during the block; the value is its id."""
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, env=environment) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def answer(url: str, verify: ssl.SSLContext | bool = True) -> httpx.Response:
    """The response of a server that may still be starting."""
    deadline = monotonic() + PATIENCE
    while True:
        with suppress(httpx.ConnectError):
            return httpx.get(url, verify=verify, timeout=PATIENCE, trust_env=False)
        assert monotonic() < deadline
        sleep(0.1)


@pytest.fixture
def web(settings: Settings, tmp_path: Path) -> Iterator[tuple[int, Path, int]]:
    """The port, certificate and process id of a web process with the variables of docker-compose.tls.yml."""
    chain, key = self_signed_certificate(tmp_path, "localhost")
    files = {"/run/secrets/web_certificate": str(chain), "/run/secrets/web_key": str(key)}
    variables = LINKED["api"]["environment"]
    tls = {name: files[value] for name, value in variables.items() if name.startswith("UVICORN_")}
    assert set(tls.values()) == set(files.values())
    environment = {
        **os.environ,
        **tls,
        **addresses(settings),
    }
    port = free_port()
    with running(web_command("127.0.0.1", port, 1), tmp_path / "web.log", **environment) as pid:
        trusting = ssl.create_default_context(cafile=chain)
        assert answer(f"https://localhost:{port}/healthz", trusting).json() == {"status": "ok"}
        yield port, chain, pid


def test_a_web_process_with_a_certificate_speaks_only_tls(web: tuple[int, Path, int]) -> None:
    port, *_ = web
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://localhost:{port}/healthz", timeout=PATIENCE, trust_env=False)
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"https://localhost:{port}/healthz", timeout=PATIENCE, trust_env=False)


def test_handshakes_that_never_end_count_as_connections(web: tuple[int, Path, int]) -> None:
    """They count for the limit per address and for the limit of all: half of the files that the process may open."""
    port, chain, pid = web
    trusting, open_files = ssl.create_default_context(cafile=chain), Path(f"/proc/{pid}/fd")
    raise_open_files_limit()
    limit, others = 2 * MAX_CONNECTIONS_PER_ADDRESS + 100, 32
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
    before = len(list(open_files.iterdir()))
    with ExitStack() as held:
        for source, bound in (("127.0.0.2", MAX_CONNECTIONS_PER_ADDRESS), ("127.0.0.3", limit // 2)):
            for _ in range(MAX_CONNECTIONS_PER_ADDRESS + 100):
                raw = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=(source, 0))
                held.enter_context(raw)
            assert answer(f"https://localhost:{port}/healthz", trusting).status_code == 200
            assert bound <= len(list(open_files.iterdir())) < before + bound + others


@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs Debian's caddy")
def test_the_proxy_trusts_only_the_certificate_it_knows(web: tuple[int, Path, int], tmp_path: Path) -> None:
    port, chain, _ = web
    other = tmp_path / "other"
    other.mkdir()
    unknown, _ = self_signed_certificate(other, "localhost")
    caddy = ("caddy", "run", "--config", str(ROOT / "deploy/Caddyfile"), "--adapter", "caddyfile")
    for known, status in ((chain, 200), (unknown, 502)):
        public = free_port()
        environment = {
            **os.environ,
            **LINKED["proxy"]["environment"],
            "DOMAIN": f"http://127.0.0.1:{public}",
            "CADDY_TLS": "",
            "CADDY_ADMIN": f"127.0.0.1:{free_port()}",
            "HOME": str(tmp_path),
            "WEB_ADDRESS": f"localhost:{port}",
            "WEB_CERTIFICATE": str(known),
        }
        with running(caddy, tmp_path / f"caddy-{status}.log", **environment):
            assert answer(f"http://127.0.0.1:{public}/healthz").status_code == status
