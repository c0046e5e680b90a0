"""Server-sent events of submissions: one polling task serves all listeners of a process.

A listener holds a connection to its browser, but no thread and no database connection. While there are listeners, a
single task reads the state of all their submissions once a second, in one transaction.
"""

import asyncio
import logging
import signal
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from types import FrameType

from scorer.db.session import is_unavailable, unavailability
from scorer.errors import TooMany
from scorer.submissions.progress import StatusSnapshot, SubmissionProgress, SubmissionStep

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
HEARTBEAT_SECONDS = 15.0
STREAM_LIFETIME_SECONDS = 900.0
"""After this time a stream ends and the client connects again: a signed-out person gets no further events."""
MAX_STREAMS = 100
"""Per account and process."""

StatusUpdate = tuple[SubmissionStep, SubmissionProgress]


class Channel:
    """A submission with listeners: its steps, its progress, and an event that wakes the listeners."""

    def __init__(self, known: StatusSnapshot) -> None:
        self.steps = list(known.steps)
        self.progress = known.progress
        self.listeners = 0
        self.changed = asyncio.Event()

    @property
    def last_step_id(self) -> int:
        """0 without any step."""
        return self.steps[-1].id if self.steps else 0

    @property
    def is_over(self) -> bool:
        """Whether no further step can follow."""
        return bool(self.steps) and self.steps[-1].is_last

    def update(self, snapshot: StatusSnapshot) -> None:
        """Add a snapshot's new steps and progress, and wake the listeners if anything changed."""
        new = [step for step in snapshot.steps if step.id > self.last_step_id]
        if new or snapshot.progress != self.progress:
            self.steps += new
            self.progress = snapshot.progress
            self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def updates_after(self, after: int) -> list[StatusUpdate]:
        """The states after a step, in order; only the newest has its progress."""
        new = [step for step in self.steps if step.id > after]
        return [(step, self.progress if step is self.steps[-1] else SubmissionProgress()) for step in new]


class EventHub:
    """The listeners of this process by submission. ``read_snapshots`` maps {ref: id of the last known step} to newer
    snapshots; it runs in a thread. Everything else runs in the event loop."""

    def __init__(
        self,
        read_snapshots: Callable[[Mapping[int, int]], Mapping[int, StatusSnapshot]],
        *,
        seconds: float = POLL_SECONDS,
    ) -> None:
        self._read_snapshots = read_snapshots
        self._seconds = seconds
        self._channels: dict[int, Channel] = {}
        self._accounts: Counter[int] = Counter()
        self._polling_task: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def listeners(self) -> int:
        return self._accounts.total()

    def require_free_stream(self, account_id: int) -> None:
        """``TooMany`` for an account with ``MAX_STREAMS`` open streams."""
        if self._accounts[account_id] >= MAX_STREAMS:
            raise TooMany(
                "too-many-streams",
                f"You are already following {MAX_STREAMS} submissions. Close one of their pages.",
                retry_after=60,
            )

    async def follow(
        self, ref: int, known: StatusSnapshot, *, after: int, account_id: int, heartbeat: float = HEARTBEAT_SECONDS
    ) -> AsyncGenerator[StatusUpdate | None]:
        """The states of a submission after the step ``after``, then each new state as it arrives, up to the last one.
        None is a heartbeat. ``known`` is the submission's current snapshot."""
        channel = self._channels.setdefault(ref, Channel(known))
        channel.update(known)
        channel.listeners += 1
        self._accounts[account_id] += 1
        self._start_polling()
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
        end = loop.time() + STREAM_LIFETIME_SECONDS
        sent_progress = None
        while not self._closed and loop.time() < end:
            changed = channel.changed
            updates = channel.updates_after(after)
            if not updates and channel.steps and sent_progress != channel.progress:
                updates = [(channel.steps[-1], channel.progress)]
            for step, progress in updates:
                after = step.id
                sent_progress = progress
                yield step, progress
            if channel.is_over:
                return
            if changed is channel.changed:
                try:
                    await asyncio.wait_for(changed.wait(), heartbeat)
                except TimeoutError:
                    yield None

    def _start_polling(self) -> None:
        if self._polling_task is None:
            self._polling_task = asyncio.create_task(self._poll(), name="live")

    async def _poll(self) -> None:
        while self._channels and not self._closed:
            await asyncio.sleep(self._seconds)
            seen = {ref: channel.last_step_id for ref, channel in self._channels.items() if not channel.is_over}
            try:
                snapshots = await asyncio.to_thread(self._read_snapshots, seen) if seen else {}
            except Exception as error:
                # Nothing gets lost: each poll starts at the last known step.
                if is_unavailable(error):
                    log.warning("reading the state of %d submissions failed: %s", len(seen), unavailability(error))
                else:
                    log.exception("reading the state of %d submissions failed", len(seen))
                continue
            for ref, snapshot in snapshots.items():
                if ref in self._channels:
                    self._channels[ref].update(snapshot)
        self._polling_task = None

    def close(self) -> None:
        """End all streams: clients connect to another process and continue after their last event."""
        self._closed = True
        for channel in self._channels.values():
            channel.wake()


@contextmanager
def closed_by_signals(hub: EventHub) -> Iterator[None]:
    """Close ``hub`` on SIGTERM or SIGINT: a stopping server waits for all responses in progress, including streams."""
    loop = asyncio.get_running_loop()
    before = {}
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
