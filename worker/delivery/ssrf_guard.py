"""Which addresses a stranger may have us call: those of the public network, and none of our own."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

PROTOCOL_NETWORKS = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
"""IETF assignments and 6to4 relays, which not every Python counts among those that are not global."""
GLOBAL_UNICAST = IPv6Network("2000::/3")
TUNNEL_NETWORKS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"), IPv6Network("64:ff9b::/96"))
"""6to4, Teredo, NAT64: each holds an IPv4 address, which may be anybody's."""


class NotPublicAddress(Exception):
    """The host has no address, or one that is not of the public network."""


async def public_address_of(host: str, *, local: bool) -> str:
    """An address of ``host``. ``NotOutside`` unless all its addresses are public (``local``: any will do): a name
    that has both kinds is a trick. Call the address, not the name, which may mean something else the next time."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotPublicAddress(f"The host {host} is not known.") from error
    addresses = [str(each[4][0]) for each in found]
    if not addresses or not (local or all(map(is_public, addresses))):
        raise NotPublicAddress(f"The host {host} is not on the public network.")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address is one of the public network: not this machine's, nor a private network's, nor one that
    stands for another."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:  # with a zone: link-local
        return False
    if isinstance(parsed, IPv6Address):
        return parsed.is_global and parsed in GLOBAL_UNICAST and not any(parsed in tunnel for tunnel in TUNNEL_NETWORKS)
    inside = parsed.is_multicast or parsed.is_reserved or any(parsed in network for network in PROTOCOL_NETWORKS)
    return parsed.is_global and not inside
