"""A TCP proxy that cuts connections, in front of real servers."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from threading import Thread
from time import sleep
from urllib.parse import urlsplit

CHUNK = 1 << 16


@dataclass
class FlakyProxy:
    """Forwards connections to ``servers`` (addresses) in turn and cuts some.

    It cuts the first ``cuts`` connections that carry more than ``after`` bytes to the server. ``pause`` is the delay
    in seconds before each 64 KiB. While ``silent``, the proxy accepts connections and bytes but forwards nothing.
    With ``silent_after_cut`` it becomes silent after a cut.
    """

    servers: list[str]
    after: int
    cuts: int
    pause: float = 0.0
    silent: bool = False
    silent_after_cut: bool = False
    timeout: float = 30.0
    """Seconds after which the proxy closes an idle connection."""
    cut: int = 0
    bytes_carried: int = 0
    _threads: list[Thread] = field(default_factory=list)
    _clients: list[socket.socket] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run the proxy and yield its URL."""
        targets = cycle(urlsplit(server).port or 80 for server in self.servers)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0.1)
            open_ = [True]

            def accept() -> None:
                while open_:
                    with suppress(TimeoutError):
                        client, _ = listener.accept()
                        client.settimeout(self.timeout)
                        self._start(client, next(targets))

            thread = Thread(target=accept)
            thread.start()
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                open_.clear()
                for started in (thread, *self._threads):
                    started.join(30)

    def close_connections(self) -> None:
        """Cut every open connection."""
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _start(self, client: socket.socket, port: int) -> None:
        self._clients.append(client)
        thread = Thread(target=self._connect, args=(client, port))
        self._threads.append(thread)
        thread.start()

    def _connect(self, client: socket.socket, port: int) -> None:
        with ExitStack() as stack:
            stack.enter_context(client)
            server = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=self.timeout))
            back = Thread(target=self._answers, args=(server, client))
            back.start()
            with suppress(OSError):
                self._asks(client, server)
            for connection in (client, server):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            back.join(30)

    def _asks(self, client: socket.socket, server: socket.socket) -> None:
        carried = 0
        while data := client.recv(CHUNK):
            sleep(self.pause)
            self._wait()
            carried += len(data)
            self.bytes_carried += len(data)
            if carried > self.after and self.cut < self.cuts:
                self.silent = self.silent_after_cut
                self.cut += 1
                return
            server.sendall(data)

    def _wait(self) -> None:
        while self.silent:
            sleep(0.02)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(CHUNK):
                self._wait()
                client.sendall(data)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
