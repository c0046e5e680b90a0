"""An application on a real loopback port: for browsers, commands and responses that don't end."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Literal

import uvicorn
from fastapi import FastAPI

from api.http.server_protocol import BoundedHttpProtocol
from deploy.standalone.commands import SERVER_LOOP


@contextmanager
def serve(
    app: FastAPI, *, lifespan: Literal["on", "off"] = "off", certificate: tuple[Path, Path] | None = None
) -> Iterator[str]:
    """Serve ``app``; its address. ``lifespan="on"`` also starts and ends the application; off is for one that already
    runs, such as that of ``service.http``. With a certificate and its key the server speaks TLS."""
    chain, key = certificate or (None, None)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app,
            http=BoundedHttpProtocol,
            loop=SERVER_LOOP,
            ssl_certfile=chain,
            ssl_keyfile=key,
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
            yield f"{'https' if certificate else 'http'}://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            # A server that stops waits for its answers, and an event stream would not end by itself.
            if hasattr(app.state, "hub"):
                app.state.hub.close()
            server.should_exit = True
            thread.join(20)
