"""Malware scans by clamd, the daemon of ClamAV. The protocol is INSTREAM of ``clamd(8)``."""

import logging
import socket
from contextlib import suppress
from typing import BinaryIO, Final

from scorer.errors import Invalid, Unavailable

log = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
SCAN_SECONDS = 300.0
"""The longest time for clamd to accept a chunk, or to answer after the last one."""
CHUNK_BYTES = 1 << 18
MAX_REPLY_BYTES = 1 << 12
FOUND: Final = " FOUND"
EICAR: Final = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}" + b"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
"""The harmless file that every scanner reports. It is in two parts, or scanners would report this module."""


def require_clean(address: str, file: BinaryIO) -> None:
    """Scan the rest of a file with the clamd at ``address``, the path of a socket or ``host:port``.

    ``Invalid`` (``malware``) names the malware. ``Unavailable`` (``no-scanner``) if the scan fails: Kennel accepts no
    file without a scan.
    """
    reply = _scan(address, file)
    if reply.endswith(FOUND):
        signature = reply.removeprefix("stream: ").removesuffix(FOUND)
        raise Invalid("malware", f"The malware scanner found {signature} in this file.")
    if reply != "stream: OK":
        raise _no_scan(address, reply or "no answer")


def _scan(address: str, file: BinaryIO) -> str:
    try:
        with _connected(address) as connection:
            # clamd may close early, perhaps after sending its reason.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(b"zINSTREAM\0")
                while chunk := file.read(CHUNK_BYTES):
                    connection.sendall(len(chunk).to_bytes(4, "big") + chunk)
                connection.sendall(bytes(4))
            return _reply(connection)
    except OSError as error:
        raise _no_scan(address, str(error)) from error


def _connected(address: str) -> socket.socket:
    if address.startswith("/"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect(address)
        except BaseException:
            connection.close()
            raise
    else:
        host, _, port = address.rpartition(":")
        connection = socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS)
    connection.settimeout(SCAN_SECONDS)
    return connection


def _reply(connection: socket.socket) -> str:
    reply = b""
    while not reply.endswith(b"\0") and len(reply) < MAX_REPLY_BYTES:
        part = connection.recv(MAX_REPLY_BYTES)
        if not part:
            break
        reply += part
    return reply.rstrip(b"\0\n").decode(errors="replace")


def _no_scan(address: str, why: str) -> Unavailable:
    log.error("clamd at %s failed to scan a file: %s", address, why)
    return Unavailable("no-scanner", "The malware scanner is unavailable. Please try again later.")
