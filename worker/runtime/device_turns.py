"""Turns on a device: the processes of one worker compute on it one at a time.

While one process computes the features of an entry, another reads and decodes the next one, finds neighbours of the
previous one, or records it, so the device does not wait. Each process has its own job with its own lease.

The locks are in an unnamed file that the processes forked for this worker's jobs share. A lock always ends with its
process.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import RawValue
from typing import Any

from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors import Extractor, Features, Images
from scorer.metrics.cosine import Shortlister
from scorer.progress import ProgressCallback
from worker.runtime.process_locks import is_locked, shared_file, try_lock

POLL_SECONDS = 0.02
_DEVICE, _WANTED = 0, 1


_file = shared_file()
_batches = RawValue("Q", 0)
"""Number of batches that all processes of this worker have computed."""
_WAITING = 1e-6
"""A share that is displayed as 0."""


@contextmanager
def device_turn(waiting: Callable[[], object] = lambda: None, *, public: bool = False) -> Iterator[None]:
    """A context in which no other process of this worker computes on its device. ``waiting`` is called now and then
    until the turn comes, and may raise. With ``public``, a background job that is computing lets go
    (:func:`is_wanted`).
    """
    if public:
        fcntl.lockf(_file, fcntl.LOCK_SH, 1, _WANTED)
    try:
        while not try_lock(_file, _DEVICE):
            waiting()
            time.sleep(POLL_SECONDS)
    finally:
        if public:
            fcntl.lockf(_file, fcntl.LOCK_UN, 1, _WANTED)
    try:
        yield
    finally:
        fcntl.lockf(_file, fcntl.LOCK_UN, 1, _DEVICE)


def is_wanted() -> bool:
    """Whether a public job waits for this process's turn to end."""
    return is_locked(_file, _WANTED)


@dataclass(frozen=True)
class TakingTurns:
    """An extractor that computes features in this process's turns on the device.

    While it waits, it reports a progress of about 0, and reports again after each batch of the computing process. If
    that process stalls, so does this progress.
    """

    extractor: Extractor
    public: bool = False

    @property
    def spec(self) -> ExtractorSpec:
        return self.extractor.spec

    @property
    def provenance(self) -> dict[str, Any]:
        return self.extractor.provenance

    def features(self, images: Images, *, progress: ProgressCallback | None = None) -> Features:
        report = progress or (lambda _share: None)

        def computed(share: float) -> None:
            _batches.value += 1
            report(share)

        with device_turn(lambda: report(_WAITING * (_batches.value % 2)), public=self.public):
            return self.extractor.features(images, progress=computed)

    @property
    def shortlister(self) -> Shortlister:
        """The extractor's shortlister. It takes no turn: its products need milliseconds and little memory on the
        device, but to get a turn they would wait for another entry's features.
        """
        return self.extractor.shortlister

    def logits(self, features: Features) -> Features | None:
        return self.extractor.logits(features)
