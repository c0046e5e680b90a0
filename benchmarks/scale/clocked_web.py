"""The service's web application on a :class:`SharedClock`.

It opens some uploads in limited processes and the others itself.
"""

import itertools
import mmap
import os
import struct
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from api.http import dependencies

LIMITED_EVERY = "KENNEL_SCALE_LIMITED_EVERY"
"""The environment variable with n, if one of n uploads is opened in a limited process."""


def served_app() -> FastAPI:
    """Make the application for a web server.

    The environment names the clock's file and the number of uploads per limited process.
    """
    vars(dependencies)["utc_now"] = SharedClock(Path(os.environ[CLOCK_FILE])).now
    app: FastAPI = import_module("api.main").served_app()  # not earlier: it imports the clock by its name
    uploads = vars(import_module("api.submissions.file_uploads"))
    uploads["reads_limited"] = one_in(int(os.environ[LIMITED_EVERY]))
    uploads["require_right_clock"] = lambda _: None  # the database's clock is not set
    return app


def one_in(every: int) -> Callable[[Any], bool]:
    """Make a function that returns True for one of ``every`` uploads, regardless of the settings."""
    uploads = itertools.count()
    return lambda _: next(uploads) % every == 0


CLOCK_FILE = "KENNEL_SCALE_CLOCK"
"""The environment variable with the clock's file."""
_MOMENT = struct.Struct("d")


class SharedClock:
    """A clock with its moment in the file ``path``. Until it is first set, it has the real time."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_MOMENT.pack(0.0))
        with path.open("r+b") as file:
            self._moment = mmap.mmap(file.fileno(), _MOMENT.size)

    def now(self) -> datetime:
        (moment,) = _MOMENT.unpack(self._moment[:])
        return datetime.fromtimestamp(moment or time.time(), UTC)

    def set(self, moment: datetime) -> None:
        self._moment[:] = _MOMENT.pack(moment.timestamp())
