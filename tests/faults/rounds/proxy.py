"""A TCP proxy in front of a local server, with faults that can be switched on and off."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

CHUNK = 1 << 16
END_OF_TRANSACTION = (b"COMMIT", b"ROLLBACK")


@dataclass
class LostCommit:
    """Loses the COMMIT of the first transaction that sends ``statement``.

    It loses the COMMIT ``before`` it reaches the server, or only its acknowledgement ``after`` the server commits.
    """

    statement: bytes
    when: Literal["before", "after"]
    happened: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class _Connection:
    """A client's connection, and the proxy's connection to the server."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    matches: bool = False
    loses_answer: bool = False

    def cut(self) -> None:
        for writer in (self.client, self.server):
            with suppress(Exception):
                writer.transport.abort()


class Proxy:
    """Forwards connections to ``target``, a local port. ``pause`` is in seconds before each 64 KiB from a client."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.pause = 0.0
        self.lost_commit: LostCommit | None = None
        self._refusing = False
        self._connections: set[_Connection] = set()
        self._listening = threading.Event()

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        """Run the proxy in a thread. It listens on ``port``."""
        thread = threading.Thread(target=lambda: asyncio.run(self._listen()), name="proxy", daemon=True)
        thread.start()
        if not self._listening.wait(30):
            raise TimeoutError("the proxy does not listen")
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._end.set)
            thread.join(10)

    async def _listen(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        await self._end.wait()
        server.close()
        self._refusing = True
        while self._connections:
            for connection in list(self._connections):
                connection.cut()
            await asyncio.sleep(0.01)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Cut every connection and accept none during the block, as if the server were away."""
        self._refusing = True
        self.cut()
        try:
            yield
        finally:
            self._refusing = False

    def cut(self) -> None:
        """Cut every open connection."""

        def abort() -> None:
            for connection in list(self._connections):
                connection.cut()

        self._loop.call_soon_threadsafe(abort)

    async def _serve(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if self._refusing:
            client.transport.abort()
            return
        try:
            server_reader, server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            client.transport.abort()
            return
        connection = _Connection(client, server)
        self._connections.add(connection)
        try:
            await asyncio.gather(self._requests(client_reader, connection), self._answers(server_reader, connection))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            connection.cut()
            self._connections.discard(connection)

    async def _requests(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        while data := await reader.read(CHUNK):
            if self.pause:
                await asyncio.sleep(self.pause)
            if self._is_lost(data, connection):
                connection.cut()
                return
            connection.server.write(data)
            await connection.server.drain()
        if connection.server.can_write_eof():
            connection.server.write_eof()

    async def _answers(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        while data := await reader.read(CHUNK):
            if connection.loses_answer:
                connection.cut()
                return
            connection.client.write(data)
            await connection.client.drain()
        connection.client.close()

    def _is_lost(self, data: bytes, connection: _Connection) -> bool:
        """Whether this request is a COMMIT to lose. If only its answer must be lost, mark the connection."""
        lost = self.lost_commit
        if lost is None or lost.happened.is_set():
            return False
        connection.matches |= lost.statement in data
        if not any(word in data for word in END_OF_TRANSACTION):
            return False
        hit = connection.matches and b"COMMIT" in data
        connection.matches = False
        if hit:
            lost.happened.set()
            connection.loses_answer = lost.when == "after"
        return hit and lost.when == "before"
