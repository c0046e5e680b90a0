"""The SSRF guard (server-side request forgery): webhooks may lead to public addresses only."""

import asyncio
import socket
import threading
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

SPECIAL_NETWORKS = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"), IPv4Network("168.63.129.16/32"))
"""IETF assignments and 6to4 relays, which some Python versions count as global; Azure's service of the host."""
GLOBAL_UNICAST = IPv6Network("2000::/3")
TUNNEL_NETWORKS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"), IPv6Network("64:ff9b::/96"))
"""6to4, Teredo, NAT64: each address contains an IPv4 address, which may be a private one."""


MAX_LOOKUPS = 100
"""Look-ups at once. Those that nobody waits for any more count until the system's resolver gives them up."""
_lookups = threading.BoundedSemaphore(MAX_LOOKUPS)


class NotPublicAddress(Exception):
    """The host has no address, or one outside the public network: which of both would tell strangers the names of our
    own network."""

    def __init__(self, host: str) -> None:
        super().__init__(f"The name {host} has no address on the public network.")


async def public_address_of(host: str, *, local: bool) -> str:
    """An address of ``host``; :class:`NotPublicAddress` unless all its addresses are public (``local``: any may do).

    A name with public and private addresses is treated as an attack. The request must go to the returned address, not
    to the name, which may resolve to another one the next time.
    """
    try:
        addresses = await _addresses_of(host)
    except (OSError, UnicodeError) as error:
        raise NotPublicAddress(host) from error
    if not addresses or not (local or all(map(is_public, addresses))):
        raise NotPublicAddress(host)
    return addresses[0]


async def _addresses_of(host: str) -> list[str]:
    """The addresses of a host, looked up in a thread that nobody waits for: cancelling the look-up ends the wait at
    once, which the executor of the event loop would prolong until the resolver gives up."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def look_up() -> None:
        addresses: list[str] = []
        fault: Exception | None = None
        try:
            addresses = [str(each[4][0]) for each in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            fault = error
        finally:
            _lookups.release()
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, addresses, fault)

    def settle(addresses: list[str], fault: Exception | None) -> None:
        if answer.done():
            return
        if fault is not None:
            answer.set_exception(fault)
        else:
            answer.set_result(addresses)

    if not _lookups.acquire(blocking=False):
        raise OSError("too many names are being looked up")
    threading.Thread(target=look_up, name="webhook-lookup", daemon=True).start()
    return await answer


def is_public(address: str) -> bool:
    """Whether an address is public: neither local nor private, and not one that embeds another address."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:  # with a zone: link-local
        return False
    if isinstance(parsed, IPv6Address):
        return parsed.is_global and parsed in GLOBAL_UNICAST and not any(parsed in tunnel for tunnel in TUNNEL_NETWORKS)
    special = parsed.is_multicast or parsed.is_reserved or any(parsed in network for network in SPECIAL_NETWORKS)
    return parsed.is_global and not special
