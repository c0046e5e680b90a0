"""Rate limits per account and address, with a sliding window in Redis."""

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
    "request": "1200/minute",  # per account, or per address of visitors
    "sign-in": "10/15 minutes",  # per address and account, or per browser that the account knows
    "sign-in-account": "100/hour",  # failures per account from all other browsers (distributed guessing), after which
    "sign-in-network": "3/hour",  # this limit holds per network (IPv4 /24 or IPv6 /48) for the account
    "sign-in-address": "200/15 minutes",  # per address, for all accounts and tokens
    "second-factor": "5/15 minutes",  # attempts with codes and passkeys per account, after its password
    "sign-up": "20/hour",  # per address
    "mail": "5/hour",  # per recipient, without mails for a new password
    "mail-reset": "5/hour",  # mails for a new password per recipient; above it, an earlier link still works
    "mail-address": "20/hour",  # requested per account, or per address of visitors
    "team-invitation": "20/hour",  # per account
    "webhook-ping": "10/hour",  # per account, because the response reveals whether an address answers
}
"""By name of the limit; the setting ``rates`` overrides single limits."""


PAST_BOARD_COST = 20
"""How many requests a past board counts as: it is ranked for a single reader."""
ROWS_PER_REQUEST = 500
"""How many rows of a table for a single reader, such as a complete board, count as one request: they take about 20 ms
of processor time."""
FIGURE_COST = 3
"""How many requests an uncached figure counts as. It is drawn once for each state of the board."""
REDIS_SECONDS = 0.25
"""The timeout for Redis. After a timeout, Redis is skipped for a while."""


class RateLimiter:
    """Counts requests by limit and requester.

    All web processes share the counts in Redis. While Redis does not respond, each process counts for itself and logs
    a warning: nobody is locked out, and guessing stays limited.
    """

    def __init__(self, settings: Settings) -> None:
        self._items: dict[str, RateLimitItem] = {
            name: parse(rate) for name, rate in {**RATE_LIMITS, **settings.rates}.items()
        }
        options: dict[str, Any] = {
            "socket_timeout": REDIS_SECONDS,
            "socket_connect_timeout": REDIS_SECONDS,
            "retry": Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),  # after a closed connection
        }
        url = settings.redis_url.get_secret_value()
        storage = RedisStorage(url, key_prefix="kennel-rates", wrap_exceptions=True, **options)
        self._breaker = CircuitBreaker()
        self._shared = MovingWindowRateLimiter(storage)
        self._own = FixedWindowRateLimiter(MemoryStorage())  # stores one number per requester, not one per request

    def hit(self, name: str, *who: object, cost: int = 1) -> None:
        """Count a request that costs as much as ``cost`` requests. Above the limit, ``TooMany`` with the seconds to
        wait. An expensive request costs at most half of the limit, so it can always be made."""
        item = self._items[name]
        cost = max(1, min(cost, item.amount // 2))
        key = [name, *map(str, who)]

        def wait_in(limiter: limits.strategies.RateLimiter) -> float | None:
            """Seconds until the request is within the limit; None if it is."""
            if limiter.hit(item, *key, cost=cost):
                return None
            return limiter.get_window_stats(item, *key).reset_time - time.time()

        wait = self._counted(wait_in)
        if wait is not None:
            seconds = max(1, math.ceil(wait))
            raise TooMany(
                "too-often", f"You have made too many requests. Try again in {seconds} s.", retry_after=seconds
            )

    def is_used_up(self, name: str, *who: object) -> bool:
        """Whether the next request would exceed the limit. Counts nothing."""
        return not self._counted(lambda limiter: limiter.test(self._items[name], name, *map(str, who)))

    def reset(self, name: str, *who: object) -> None:
        """Clear a counter, for example after a successful sign-in that followed some failures."""
        self._counted(lambda limiter: limiter.clear(self._items[name], name, *map(str, who)))

    def _counted(self, count: Callable[[limits.strategies.RateLimiter], Counted]) -> Counted:
        """Apply ``count`` to the counts in Redis, or to this process's own counts while Redis does not respond."""
        if not self._breaker.is_open:
            try:
                return count(self._shared)
            except StorageError as error:
                self._breaker.trip()
                log.warning("Redis does not respond; this process counts requests itself: %s", error)
        return count(self._own)


@lru_cache(maxsize=4096)
def find_network(address: str, *, ipv4_bits: int = 32, ipv6_bits: int = 64) -> str:
    """The network whose requests share a limit. By default, it is the address for IPv4, and for IPv6 the /64, which
    belongs to one host."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    bits = ipv4_bits if parsed.version == 4 else ipv6_bits
    return str(ipaddress.ip_network((parsed, bits), strict=False))
