"""Runs docker-compose.yml with docker, through the interface of :mod:`tests.compose.engine`."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.compose.compose_file import MAIN, ROOT

PATIENCE = 1500
COMPOSE = ("docker", "compose", "--project-name", "kennel-test", "-f", MAIN, "-f", "docker-compose.cpu.yml")
AUTHORITY = "proxy:/data/caddy/pki/authorities/local/root.crt"


@dataclass
class Docker:
    """All services of the compose file in a separate project; a context manager that removes them at the end. It needs
    ports 80 and 443 of this machine."""

    folder: Path
    domain: str = "localhost"

    def __enter__(self) -> Self:
        subprocess.run(["sh", "deploy/make_secrets.sh"], cwd=ROOT, check=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._compose("down", "--volumes")

    def start_all(self) -> None:
        """Build and start every service, and wait until all are healthy or have ended with status 0."""
        done = self._compose("up", "--detach", "--build", "--wait")
        assert done.returncode == 0, done.stdout + done.stderr

    def execute(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a service's container."""
        return self._compose("exec", "--no-TTY", name, *words)

    def client(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a Python module that trusts the proxy's certificate."""
        certificate = self.folder / "root.crt"
        self._compose("cp", AUTHORITY, str(certificate))
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "SSL_CERT_FILE": str(certificate)}
        return self._run([sys.executable, "-m", *words], environment)

    def _compose(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self._run([*COMPOSE, *words], {**os.environ, "DOMAIN": self.domain})

    @staticmethod
    def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
