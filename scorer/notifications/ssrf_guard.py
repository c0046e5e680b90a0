"""The SSRF guard (server-side request forgery): webhooks may only use public addresses."""

import asyncio
import socket
import threading
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

SPECIAL_NETWORKS = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"), IPv4Network("168.63.129.16/32"))
"""IETF assignments and 6to4 relays, which some Python versions count as global, and Azure's host service."""
GLOBAL_UNICAST = IPv6Network("2000::/3")
TUNNEL_NETWORKS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"), IPv6Network("64:ff9b::/96"))
"""6to4, Teredo, NAT64: each address contains an IPv4 address, which may be private."""


MAX_LOOKUPS = 100
"""Simultaneous look-ups. Abandoned look-ups count until the system's resolver ends them."""
_lookups = threading.BoundedSemaphore(MAX_LOOKUPS)


class NotPublicAddress(Exception):
    """The host has no address, or an address outside the public network.

    The message does not say which: that would reveal the names of the private network.
    """

    def __init__(self, host: str) -> None:
        super().__init__(f"The name {host} has no address on the public network.")


async def resolve_public_address(host: str, *, local: bool) -> str:
    """Return an address of ``host``; :class:`NotPublicAddress` unless all its addresses are public.

    ``local``: allow all addresses. A name with public and private addresses is treated as an attack. Send the request
    to the returned address, not to the name, which may resolve to another address the next time.
    """
    try:
        addresses = await _resolve_host(host)
    except (OSError, UnicodeError) as error:
        raise NotPublicAddress(host) from error
    if not addresses or not (local or all(map(is_public, addresses))):
        raise NotPublicAddress(host)
    return addresses[0]


async def _resolve_host(host: str) -> list[str]:
    """Look up the addresses of a host in a separate thread.

    Cancelling the look-up ends the wait immediately. With the event loop's executor it would last until the resolver
    gives up.
    """
    answer: Future[list[str]] = Future()
    answer.set_running_or_notify_cancel()

    def look_up() -> None:
        try:
            try:
                found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            finally:
                _lookups.release()
            answer.set_result([str(info[4][0]) for info in found])
        except (OSError, UnicodeError) as error:
            answer.set_exception(error)

    if not _lookups.acquire(blocking=False):
        raise OSError("too many names are being looked up")
    threading.Thread(target=look_up, name="webhook-lookup", daemon=True).start()
    return await asyncio.wrap_future(answer)


def is_public(address: str) -> bool:
    """Whether an address is public: not local, not private, and without an embedded address."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:  # an address with a zone is link-local
        return False
    if isinstance(parsed, IPv6Address):
        return parsed.is_global and parsed in GLOBAL_UNICAST and not any(parsed in tunnel for tunnel in TUNNEL_NETWORKS)
    special = parsed.is_multicast or parsed.is_reserved or any(parsed in network for network in SPECIAL_NETWORKS)
    return parsed.is_global and not special
