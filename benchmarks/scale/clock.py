"""A clock that is set: one moment in a file, which several processes read as their present time."""

import mmap
import struct
import time
from datetime import UTC, datetime
from pathlib import Path

CLOCK_FILE = "KENNEL_SCALE_CLOCK"
"""The environment variable that names the file."""
_MOMENT = struct.Struct("d")


class SharedClock:
    """The moment in ``path``, which is made if it is missing; the present time until it is first set."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_MOMENT.pack(0.0))
        with path.open("r+b") as file:
            self._moment = mmap.mmap(file.fileno(), _MOMENT.size)

    def now(self) -> datetime:
        """The moment, in UTC."""
        (moment,) = _MOMENT.unpack(self._moment[:])
        return datetime.fromtimestamp(moment or time.time(), UTC)

    def set(self, moment: datetime) -> None:
        """Let it be ``moment``, for all processes."""
        self._moment[:] = _MOMENT.pack(moment.timestamp())
