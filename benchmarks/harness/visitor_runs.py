"""Runs of the benchmark of visitors: the processor time of every address, with random parameters."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from random import Random
from statistics import median
from typing import NamedTuple

import httpx
import psutil
from redis import Redis

from api.main import create_app
from benchmarks.harness.seeding import SLUG
from benchmarks.harness.visitor_requests import readable_routes
from scorer.settings import Settings

REPEATED, NEW = "visit repeated ", "visit new "
"""Prefixes of the address in the names of numbers."""
SEED = 20261123
REPEATS = 10
"""Repetitions of each request."""
WORDS: Mapping[str, Sequence[str]] = {"slug": (SLUG, SLUG, SLUG, "no-such-competition")}


def measure_visitors(port: int, web: psutil.Process, settings: Settings) -> dict[str, float]:
    """Milliseconds of the web process's processor time, by address.

    One number is for the most expensive request when repeated. The other is the average for new parameters, per request
    that the rate limit has counted.
    """
    random, numbers = Random(SEED), dict[str, float]()
    addresses = (
        f"127.9.{1 + number // 250}.{1 + number % 250}" for number in count()
    )  # the requests of one address are limited
    with Redis.from_url(settings.redis_url.get_secret_value()) as redis:
        for route in readable_routes(create_app(settings)):
            paths = [route.draw(random, WORDS, datetime.now(UTC)) for _ in range(1 + route.draws)]
            # The first request pays for things that a process makes once.
            _, *visits = [_visit(path, port, web, redis=redis, address=next(addresses)) for path in paths]
            numbers[f"{REPEATED}{route.path}"] = max(visit.repeated for visit in visits)
            numbers[f"{NEW}{route.path}"] = sum(visit.new for visit in visits) / sum(visit.counted for visit in visits)
    return numbers


class _Visit(NamedTuple):
    """Milliseconds of processor time of a request with new parameters and of its repetition.

    ``counted`` is the number of requests that the rate limit has counted for the first one.
    """

    new: float
    repeated: float
    counted: int


def _visit(path: str, port: int, web: psutil.Process, *, redis: Redis, address: str) -> _Visit:
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=600) as http:
        first = _milliseconds(http, path, web)
        counted = _requests_counted(redis, address)
        # The median leaves out a garbage collection during one of them.
        repeated = median(_milliseconds(http, path, web) for _ in range(REPEATS))
    return _Visit(first, repeated, max(1, counted))


def _milliseconds(http: httpx.Client, path: str, web: psutil.Process) -> float:
    """The web process's processor time for a whole answer; ``RuntimeError`` for a server error."""
    clock = (~web.pid << 3) | 2  # clock_getcpuclockid(3): nanoseconds; psutil has only hundredths of a second
    begun = time.clock_gettime(clock)
    with http.stream("GET", path, headers={"Accept-Encoding": "identity"}) as response:
        for _ in response.iter_raw():
            pass
    if response.status_code in {500, 502, 504}:
        raise RuntimeError(f"{path}: {response.status_code}")
    return 1000 * (time.clock_gettime(clock) - begun)


def _requests_counted(redis: Redis, address: str) -> int:
    """The requests that the rate limit has counted for an address. Expensive ones count as several."""
    return sum(redis.llen(key) for key in redis.scan_iter(match=f"*request/address/{address}/*", count=10_000))
