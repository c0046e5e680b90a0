"""TCP ports: finding a free one, and checking that a given one is free."""

import contextlib
import random
import socket
from pathlib import Path

from scorer.errors import Unavailable

SERVER_PORTS = range(20_000, 32_768)
"""Below the ports that Linux assigns to clients, from 32768 by default."""
LISTENING = "0A"  # TCP_LISTEN in the column `st` of /proc/net/tcp


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nobody listens now; bind it soon, because another process may choose it as well.

    Systems assign none of these ports to clients' connections, so only a process that wants exactly this port binds it.
    """
    for port in random.SystemRandom().sample(SERVER_PORTS, k=100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
            probe.bind((host, port))
            return port
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))  # raises if the address is not of this machine
        return int(probe.getsockname()[1])


def require_port(port: int, host: str = "127.0.0.1") -> None:
    """Raises Unavailable if ``port`` of ``host`` cannot be bound; names the process if it is known."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # as servers do: a port that only lingers in TIME_WAIT is free
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise Unavailable(
                "port-forbidden", f"Only root can listen on port {port}: choose a port above 1023."
            ) from None
        except OSError as error:
            raise Unavailable("port-taken", _why_not(port, host, error)) from None


def _why_not(port: int, host: str, error: OSError) -> str:
    holder = find_listener(port)
    if holder is not None:
        return f"Port {port} is used by {holder}: stop that process, or choose another port."
    return f"Kennel cannot listen on port {port} of {host} ({error.strerror}): choose another port."


def find_listener(port: int) -> str | None:
    """'NAME (process PID)' that listens on ``port``; None if Linux does not show it to us."""
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not wanted:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or belongs to somebody else
            if any(_read_link(descriptor) in wanted for descriptor in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
    return None


def _read_link(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:  # closed meanwhile
        return ""


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if not table.exists():
            continue
        for line in table.read_text().splitlines()[1:]:
            columns = line.split()
            local, state, inode = columns[1], columns[3], columns[9]
            if state == LISTENING and int(local.rpartition(":")[2], 16) == port:
                inodes.add(inode)
    return inodes
