"""An application on a real loopback port: for browsers, commands and responses that don't end."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Literal

import uvicorn
from fastapi import FastAPI

from api.http.server_protocol import BoundedHttpProtocol


@contextmanager
def serve(app: FastAPI, *, lifespan: Literal["on", "off"] = "off") -> Iterator[str]:
    """Serve ``app``; its address. ``lifespan="on"`` starts and ends the application, too; off is for one that
    runs already, such as that of ``service.http``."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app,
            http=BoundedHttpProtocol,
            ws="none",
            lifespan=lifespan,
            proxy_headers=False,
            log_level="warning",
            timeout_graceful_shutdown=5,
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            deadline = monotonic() + 20
            while not server.started:
                assert thread.is_alive()
                assert monotonic() < deadline
                sleep(0.02)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            # A server that stops waits for its answers, and an event stream would not end by itself.
            if hasattr(app.state, "hub"):
                app.state.hub.close()
            server.should_exit = True
            thread.join(20)
