"""Rate limits per account and address: a sliding window in Redis."""

import ipaddress
import logging
import math
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import limits.strategies
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from scorer.errors import TooMany
from scorer.jobs.circuit_breaker import CircuitBreaker
from scorer.settings import Settings

log = logging.getLogger(__name__)
Counted = TypeVar("Counted")

RATE_LIMITS: Mapping[str, str] = {
    "request": "1200/minute",  # of an account, or of an address where nobody is signed in
    "sign-in": "10/15 minutes",  # of one address for one account, or of a browser that has signed in before
    "sign-in-account": "100/hour",  # failures for one account from all other browsers: distributed guessing; then also
    "sign-in-network": "3/hour",  # of one network, a /24 of IPv4 or a /48 of IPv6, for that account
    "sign-in-address": "200/15 minutes",  # of one address, for all accounts and with all tokens
    "second-factor": "5/15 minutes",  # codes and passkeys tried for one account, after its password
    "sign-up": "20/hour",  # of one address
    "mail": "5/hour",  # to one recipient, from all requests but those for a new password
    "mail-reset": "5/hour",  # for a new password, to one recipient: whoever is refused has a link that still works
    "mail-address": "20/hour",  # asked for by one account, or by one address where nobody is signed in
    "team-invitation": "20/hour",  # of one account
    "webhook-ping": "10/hour",  # of one account: an answer tells what is behind an address
}
"""The limit of each kind of request by name; the setting ``rates`` overrides them by name."""


PAST_BOARD_COST = 20
"""Requests that a board of a past moment counts as: it is ranked for one reader alone."""
ROWS_PER_REQUEST = 500
"""Rows of a table that is written for one reader alone, as all places of a board are, that count as one request: about
20 ms of processor time."""
FIGURE_COST = 3
"""Requests that a figure counts as whose answer is not kept yet: it is drawn once for each state of the board."""
REDIS_SECONDS = 0.25
"""Longest wait for Redis, which then is left alone for a while."""


class RateLimiter:
    """Counts requests by the name of the limit and by the requester.

    All web processes count together, in Redis. While it does not answer each counts by itself, with a warning in the
    log: nobody is kept out, and nobody guesses without a limit.
    """

    def __init__(self, settings: Settings) -> None:
        self._items: dict[str, RateLimitItem] = {
            name: parse(rate) for name, rate in {**RATE_LIMITS, **settings.rates}.items()
        }
        options: dict[str, Any] = {
            "socket_timeout": REDIS_SECONDS,
            "socket_connect_timeout": REDIS_SECONDS,
            "retry": Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),  # of a connection that has ended
        }
        url = settings.redis_url.get_secret_value()
        storage = RedisStorage(url, key_prefix="kennel-rates", wrap_exceptions=True, **options)
        self._breaker = CircuitBreaker()
        self._shared = MovingWindowRateLimiter(storage)
        self._own = FixedWindowRateLimiter(MemoryStorage())  # one number for each requester, not one for each request

    def hit(self, name: str, *who: object, cost: int = 1) -> None:
        """Count one request, or one that costs as much as several; ``TooMany`` with the seconds to wait if it exceeds
        the limit. However dear, it takes half of the limit at most: so it is possible at all."""
        item = self._items[name]
        cost = max(1, min(cost, item.amount // 2))
        key = [name, *map(str, who)]

        def wait_in(limiter: limits.strategies.RateLimiter) -> float | None:
            """Seconds until the next request is within the limit; None if this one is."""
            if limiter.hit(item, *key, cost=cost):
                return None
            return limiter.get_window_stats(item, *key).reset_time - time.time()

        wait = self._counted(wait_in)
        if wait is not None:
            seconds = max(1, math.ceil(wait))
            raise TooMany("too-often", f"That was too often; please try again in {seconds} s.", retry_after=seconds)

    def is_used_up(self, name: str, *who: object) -> bool:
        """Whether the next request would exceed the limit; it is not counted."""
        return not self._counted(lambda limiter: limiter.test(self._items[name], name, *map(str, who)))

    def reset(self, name: str, *who: object) -> None:
        """Clear a counter: a person who signs in after some failures was no attacker."""
        self._counted(lambda limiter: limiter.clear(self._items[name], name, *map(str, who)))

    def _counted(self, count: Callable[[limits.strategies.RateLimiter], Counted]) -> Counted:
        """What ``count`` returns of the counts in Redis, or of this process's own while it does not answer."""
        if not self._breaker.is_open:
            try:
                return count(self._shared)
            except StorageError as error:
                self._breaker.trip()
                log.warning("requests are counted by this process alone: Redis does not answer: %s", error)
        return count(self._own)


@lru_cache(maxsize=4096)
def network_of(address: str, *, ipv4_bits: int = 32, ipv6_bits: int = 64) -> str:
    """The network that a limit counts under, with so many bits: by default an IPv4 address itself, for IPv6 its /64,
    which belongs to one host."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    bits = ipv4_bits if parsed.version == 4 else ipv6_bits
    return str(ipaddress.ip_network((parsed, bits), strict=False))
