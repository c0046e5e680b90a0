"""How long networks compute, and so how long a device is idle.

A batch counts from its launch until its features are collected. A device that has finished a batch counts as busy until
the batch is collected. So the idle share is the time that the host leaves unused between batches and between entries.
"""

import os
import time
from collections.abc import Callable, Sequence

from scorer.extractors.batches import Features, Images, Slot
from scorer.monitoring.instruments import FORWARD_SECONDS, SCORING_WORKERS


def count_worker(device: str) -> None:
    """Report that the worker which started this process has loaded a network on a device (``cpu`` or ``cuda``)."""
    SCORING_WORKERS.labels(device, str(os.getppid())).set(1)


def timed(slots: Sequence[Slot], device: str, clock: Callable[[], float] = time.monotonic) -> Sequence[Slot]:
    """The slots for one run over images, counting the seconds in which at least one has a batch in flight."""
    busy = _BusyTime(FORWARD_SECONDS.labels(device).inc, clock)
    return [_TimedSlot(slot, busy) for slot in slots]


class _BusyTime:
    def __init__(self, count: Callable[[float], None], clock: Callable[[], float]) -> None:
        self._count = count
        self._clock = clock
        self._in_flight = 0
        self._counted_to = 0.0

    def launched(self) -> None:
        if self._in_flight == 0:
            self._counted_to = self._clock()
        self._in_flight += 1

    def collected(self) -> None:
        now = self._clock()
        self._count(now - self._counted_to)
        self._counted_to = now
        self._in_flight -= 1


class _TimedSlot:
    def __init__(self, slot: Slot, busy: _BusyTime) -> None:
        self._slot = slot
        self._busy = busy
        self.batch: Images = slot.batch

    def launch(self) -> None:
        self._busy.launched()
        self._slot.launch()

    def collect(self) -> Features:
        features = self._slot.collect()
        self._busy.collected()
        return features
