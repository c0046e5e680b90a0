"""Server-sent events of submissions: one task looks for everybody who listens.

A listener holds a connection to its browser and nothing else: no thread, and no connection to the database. While
anybody listens, one task of the process looks once a second at all submissions that are listened to, together.
"""

import asyncio
import logging
import signal
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from types import FrameType

from scorer.errors import TooMany
from scorer.submissions.progress import StatusSnapshot, SubmissionProgress, SubmissionStep

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
HEARTBEAT_SECONDS = 15.0
STREAM_LIFETIME_SECONDS = 900.0
"""Then a stream ends and the client comes back, so that whoever was signed out hears no more."""
MAX_STREAMS = 100
"""Streams of one account in one process."""

StatusUpdate = tuple[SubmissionStep, SubmissionProgress]


class Channel:
    """A submission that somebody listens to: its steps so far, and how far it is."""

    def __init__(self, known: StatusSnapshot) -> None:
        self.steps = list(known.steps)
        self.progress = known.progress
        self.listeners = 0
        self.changed = asyncio.Event()

    @property
    def seen(self) -> int:
        """The id of the newest known step."""
        return self.steps[-1].id if self.steps else 0

    @property
    def is_over(self) -> bool:
        """Whether nothing can come any more."""
        return bool(self.steps) and self.steps[-1].is_last

    def take(self, found: StatusSnapshot) -> None:
        """Hear what a look has found."""
        new = [step for step in found.steps if step.id > self.seen]
        if new or found.progress != self.progress:
            self.steps += new
            self.progress = found.progress
            self.wake()

    def wake(self) -> None:
        """Let every listener read."""
        self.changed.set()
        self.changed = asyncio.Event()

    def since(self, after: int) -> list[StatusUpdate]:
        """The states after a step, in order: each as it began, the newest as it is."""
        new = [step for step in self.steps if step.id > after]
        return [(step, self.progress if step is self.steps[-1] else SubmissionProgress()) for step in new]


class EventHub:
    """Who listens to what in this process. ``look`` finds what is new of submissions (refs), each after the step with
    the given id; it runs in a thread. All else belongs to the event loop."""

    def __init__(
        self, look: Callable[[Mapping[int, int]], Mapping[int, StatusSnapshot]], *, seconds: float = POLL_SECONDS
    ) -> None:
        self._look = look
        self._seconds = seconds
        self._channels: dict[int, Channel] = {}
        self._accounts: Counter[int] = Counter()
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def listeners(self) -> int:
        """How many listen."""
        return self._accounts.total()

    def require_room(self, account_id: int) -> None:
        """``TooMany`` for an account that listens too often already."""
        if self._accounts[account_id] >= MAX_STREAMS:
            raise TooMany("too-many-streams", f"You follow {MAX_STREAMS} submissions already.", retry_after=60)

    async def follow(
        self, ref: int, known: StatusSnapshot, *, after: int, account_id: int, heartbeat: float = HEARTBEAT_SECONDS
    ) -> AsyncGenerator[StatusUpdate | None]:
        """The states of a submission after a step, and each newer one as it comes, to the end. None is a sign of life
        in between. ``known`` is all that is known now."""
        channel = self._channels.setdefault(ref, Channel(known))
        channel.take(known)
        channel.listeners += 1
        self._accounts[account_id] += 1
        self._start_looking()
        try:
            async with aclosing(self._states(channel, after, heartbeat)) as states:
                async for state in states:
                    yield state
        finally:
            self._accounts[account_id] -= 1
            channel.listeners -= 1
            if channel.listeners == 0:
                del self._channels[ref]

    async def _states(self, channel: Channel, after: int, heartbeat: float) -> AsyncGenerator[StatusUpdate | None]:
        loop = asyncio.get_running_loop()
        end, shown = loop.time() + STREAM_LIFETIME_SECONDS, None
        while not self._closed and loop.time() < end:
            changed = channel.changed
            news = channel.since(after)
            if not news and channel.steps and shown != channel.progress:
                news = [(channel.steps[-1], channel.progress)]
            for step, progress in news:
                after, shown = step.id, progress
                yield step, progress
            if channel.is_over:
                return
            if changed is channel.changed:
                try:
                    await asyncio.wait_for(changed.wait(), heartbeat)
                except TimeoutError:
                    yield None

    def _start_looking(self) -> None:
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on(), name="live")

    async def _look_on(self) -> None:
        while self._channels and not self._closed:
            await asyncio.sleep(self._seconds)
            seen = {ref: channel.seen for ref, channel in self._channels.items() if not channel.is_over}
            try:
                found = await asyncio.to_thread(self._look, seen) if seen else {}
            except Exception:
                # The database may be away for a moment; nothing is missed, since each look begins at what is known.
                log.warning("a look at %d submissions failed", len(seen), exc_info=True)
                continue
            for ref, each in found.items():
                if ref in self._channels:
                    self._channels[ref].take(each)
        self._looking = None

    def close(self) -> None:
        """End every stream: clients come back to another process, and miss nothing."""
        self._closed = True
        for channel in self._channels.values():
            channel.wake()


@contextmanager
def closed_by_signals(hub: EventHub) -> Iterator[None]:
    """Close ``hub`` when the process is told to stop. A server that stops waits for answers that are being given, and
    a stream would keep it waiting for ever."""
    loop, before = asyncio.get_running_loop(), {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(hub.close)
        former = before[signal.Signals(number)]
        if callable(former):
            former(number, frame)

    for number, former in before.items():
        if callable(former):
            signal.signal(number, stop)
    try:
        yield
    finally:
        hub.close()
        for number, former in before.items():
            signal.signal(number, former)
