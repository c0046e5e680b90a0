"""The SSRF guard (server-side request forgery): webhooks may lead to public addresses only."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

PROTOCOL_NETWORKS = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
"""IETF assignments and 6to4 relays, which some Python versions count as global."""
GLOBAL_UNICAST = IPv6Network("2000::/3")
TUNNEL_NETWORKS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"), IPv6Network("64:ff9b::/96"))
"""6to4, Teredo, NAT64: each address contains an IPv4 address, which may be a private one."""


class NotPublicAddress(Exception):
    """The host has no address, or one outside the public network."""


async def public_address_of(host: str, *, local: bool) -> str:
    """An address of ``host``; :class:`NotPublicAddress` unless all its addresses are public (``local``: any may do).

    A name with public and private addresses is treated as an attack. The request must go to the returned address, not
    to the name, which may resolve to another one the next time.
    """
    try:
        resolved = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotPublicAddress(f"The host {host} is not known.") from error
    addresses = [str(each[4][0]) for each in resolved]
    if not addresses or not (local or all(map(is_public, addresses))):
        raise NotPublicAddress(f"The host {host} is not on the public network.")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address is public: neither local nor private, and not one that embeds another address."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:  # with a zone: link-local
        return False
    if isinstance(parsed, IPv6Address):
        return parsed.is_global and parsed in GLOBAL_UNICAST and not any(parsed in tunnel for tunnel in TUNNEL_NETWORKS)
    special = parsed.is_multicast or parsed.is_reserved or any(parsed in network for network in PROTOCOL_NETWORKS)
    return parsed.is_global and not special
