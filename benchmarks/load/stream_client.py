"""A reader of server-sent events with plain sockets: a thousand of them fit into one event loop."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from typing import Any

Event = dict[str, Any]


async def events_of(
    port: int, submission: str, token: str, *, address: str = "127.0.0.1"
) -> AsyncGenerator[tuple[float, Event | None]]:
    """The events of a submission with the times (seconds since 1970) at which they came; first (time, None) once the
    stream is open. Ends with the stream; ``ConnectionError`` for any answer but 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0), limit=1 << 20)
    try:
        lines = [
            f"GET /api/v1/submissions/{submission}/events HTTP/1.1",
            "Host: kennel",
            f"Authorization: Bearer {token}",
            "Accept: text/event-stream",
        ]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        status = await reader.readline()
        if status.split()[1:2] != [b"200"]:
            raise ConnectionError(status.decode(errors="replace").strip() or "the server has closed a connection")
        yield time.time(), None
        # Chunks' lengths, headers and comments are lines without this beginning; the service sends no line in pieces.
        while line := await reader.readline():
            if line.startswith(b"data: "):
                yield time.time(), json.loads(line[6:])
            elif line == b"0\r\n":
                return
    finally:
        writer.close()
