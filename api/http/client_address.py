"""Finds the visitor's address behind proxies. Plain ASGI around everything that needs the address.

Only proxies of the setting ``trusted_proxies`` are trusted. ``X-Forwarded-For`` is read backwards from its end, which
the nearest proxy wrote, to the first address that is not a trusted proxy's. Reading stops at anything that is not an
address: the visitor then has the address of the proxy that passed it on.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from starlette.types import ASGIApp, Receive, Scope, Send

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
FORWARDED_FOR, FORWARDED_PROTO = b"x-forwarded-for", b"x-forwarded-proto"
PROXIED_PORT = 0
"""The port of a visitor behind a trusted proxy. No real connection has it."""


class ClientAddress:
    """Sets the client and scheme of a request to those that a trusted proxy names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            _believe_proxy(scope, scope["app"].state.settings.trusted_proxies)
        await self._app(scope, receive, send)


def _believe_proxy(scope: Scope, trusted: Sequence[Network]) -> None:
    peer = parse_address(scope["client"][0]) if trusted and scope.get("client") else None
    if peer is None or not _is_in(peer, trusted):
        return
    headers = scope["headers"]
    if forwarded := b",".join(value for name, value in headers if name == FORWARDED_FOR).decode("latin-1"):
        visitor = find_visitor(peer, reversed(forwarded.split(",")), trusted)
        scope["client"] = (str(visitor), PROXIED_PORT)
    schemes = [value.strip() for name, value in headers if name == FORWARDED_PROTO]
    if schemes and schemes[-1] in {b"http", b"https"}:
        scope["scheme"] = schemes[-1].decode()


def is_trusted(peer: str, trusted: Sequence[Network]) -> bool:
    address = parse_address(peer) if trusted else None
    return address is not None and _is_in(address, trusted)


def find_visitor(peer: Address, hops: Iterable[str], trusted: Sequence[Network]) -> Address:
    """The address nearest to ``peer`` that is not a trusted proxy's; ``hops`` are the forwarded addresses, nearest
    first."""
    for hop in hops:
        if not _is_in(peer, trusted):
            break
        address = parse_address(hop.strip())
        if address is None:
            break
        peer = address
    return peer


def parse_address(text: str) -> Address | None:
    """An IP address, optionally with a port (``192.0.2.1:80``, ``[2001:db8::1]:80``); None for anything else.
    An IPv4-mapped IPv6 address becomes IPv4."""
    host = text
    if text.startswith("["):
        host = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        host = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return address.ipv4_mapped or (address if address.scope_id is None else None)
    return address


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
