"""An application on a real loopback port: for browsers, commands and responses that don't end."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Literal

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fastapi import FastAPI

from api.http.server_protocol import BoundedHttpProtocol
from deploy.standalone.commands import SERVER_LOOP


@contextmanager
def serve(
    app: FastAPI, *, lifespan: Literal["on", "off"] = "off", certificate: tuple[Path, Path] | None = None
) -> Iterator[str]:
    """Serve ``app`` and yield its URL.

    ``lifespan="on"`` also starts and stops the application. Use "off" for an application that already runs, such as
    the one of ``service.http``. With a certificate and its key, the server uses TLS.
    """
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
            # A stopping server waits for its open responses, and event streams do not end on their own.
            if hasattr(app.state, "hub"):
                app.state.hub.close()
            server.should_exit = True
            thread.join(20)


def self_signed_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """The files of a self-signed certificate for ``name`` and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    moment = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(moment - timedelta(days=1))
        .not_valid_after(moment + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain, secret = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, plain)
    )
    return chain, secret
