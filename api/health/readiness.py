"""Readiness: whether a web process can do its work, read within a limit though a dependency is silent."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from threading import Thread

from starlette.datastructures import State

import migrations
from api.http.dependencies import utc_now
from scorer.db.session import require_right_clock, require_writable
from scorer.errors import KennelError
from scorer.jobs.broker import require_writable_broker

KEPT_SECONDS = 2.0
"""For how long a reading is answered again: anybody may ask."""
Check = Callable[[], object]


class Readiness:
    """The outcomes of checks, by name: ``ok``, the message of a :class:`KennelError`, the kind of any other error, or
    ``NoAnswer`` where a check takes longer than ``limit`` seconds. Requests that come at once share one reading. Each
    check has a thread of its own, which ends whenever the dependency answers or gives up; until then it is not asked
    again."""

    def __init__(self, checks: Mapping[str, Check], limit: float) -> None:
        self._checks = checks
        self._limit = limit
        self._running: dict[str, Future[str]] = {}
        self._reading: asyncio.Future[None] | None = None
        self._outcomes: Mapping[str, str] = {}
        self._read_at = -KEPT_SECONDS

    async def get(self) -> Mapping[str, str]:
        """The newest outcomes, which are read first if they are too old."""
        if time.monotonic() - self._read_at >= KEPT_SECONDS:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
            await asyncio.shield(self._reading)
        return self._outcomes

    def _read(self) -> None:
        running = {name: self._running.get(name) or _started(check) for name, check in self._checks.items()}
        wait(running.values(), self._limit)
        self._outcomes = {name: each.result() if each.done() else "NoAnswer" for name, each in running.items()}
        self._running = {name: each for name, each in running.items() if not each.done()}
        self._read_at = time.monotonic()


def readiness_of(state: State) -> Readiness:
    """What a web process needs to answer requests."""
    checks: Mapping[str, Check] = {
        "database": lambda: require_writable(state.sessions),
        "clock": lambda: require_right_clock(state.sessions, utc_now),
        "migrations": lambda: _require_migrated(state),
        "broker": lambda: require_writable_broker(state.broker),
        "blobs": state.blobs.require_usable,
    }
    return Readiness(checks, state.settings.readiness_seconds)


def _require_migrated(state: State) -> None:
    with state.sessions() as session:
        migrations.require_migrated(session.connection())


def _started(check: Check) -> Future[str]:
    outcome: Future[str] = Future()
    # A daemon: a process that ends does not wait for a silent dependency.
    Thread(target=lambda: outcome.set_result(_outcome_of(check)), name="readiness", daemon=True).start()
    return outcome


def _outcome_of(check: Check) -> str:
    try:
        check()
    except KennelError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready
        return type(error).__name__
    return "ok"
