"""TLS between the proxy and the web process: both as docker-compose.tls.yml has them, spoken to over loopback."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest

from deploy.standalone.commands import web_command
from deploy.standalone.ports import free_port
from scorer.settings import Settings
from tests.compose.compose_file import MAIN, ROOT, read
from tests.conftest import addresses
from tests.worker.notifications.test_webhook_delivery import certificate

LINKED = read(MAIN, "docker-compose.tls.yml")["services"]
PATIENCE = 60.0


@contextmanager
def running(command: tuple[str, ...], log: Path, **environment: str) -> Iterator[None]:
    """A process, ended at the end."""
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, env=environment) as process:
        try:
            yield
        finally:
            process.terminate()


def answer(url: str, verify: ssl.SSLContext | bool = True) -> httpx.Response:
    """The answer of a server that may still be starting."""
    deadline = monotonic() + PATIENCE
    while True:
        with suppress(httpx.ConnectError):
            return httpx.get(url, verify=verify, timeout=PATIENCE, trust_env=False)
        assert monotonic() < deadline
        sleep(0.1)


@pytest.fixture
def web(settings: Settings, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """The port and the certificate of a web process that has the variables of docker-compose.tls.yml."""
    chain, key = certificate(tmp_path, "localhost")
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
    with running(web_command("127.0.0.1", port, 1), tmp_path / "web.log", **environment):
        trusting = ssl.create_default_context(cafile=chain)
        assert answer(f"https://localhost:{port}/healthz", trusting).json() == {"status": "ok"}
        yield port, chain


def test_a_web_process_with_a_certificate_speaks_tls_alone(web: tuple[int, Path]) -> None:
    port, _ = web
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://localhost:{port}/healthz", timeout=PATIENCE, trust_env=False)
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"https://localhost:{port}/healthz", timeout=PATIENCE, trust_env=False)


@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs Debian's caddy")
def test_the_proxy_speaks_to_the_certificate_that_it_knows_and_to_no_other(
    web: tuple[int, Path], tmp_path: Path
) -> None:
    port, chain = web
    other = tmp_path / "other"
    other.mkdir()
    unknown, _ = certificate(other, "localhost")
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
