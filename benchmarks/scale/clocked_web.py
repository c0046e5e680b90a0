"""The service's web application, whose present time is that of a :class:`~benchmarks.scale.clock.SharedClock`, and
which opens some of the uploads in limited processes and the others itself."""

import itertools
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from api.http import dependencies
from benchmarks.scale.clock import CLOCK_FILE, SharedClock

LIMITED_EVERY = "KENNEL_SCALE_LIMITED_EVERY"
"""The environment variable that says of how many uploads one is opened in a limited process."""
RATES = '{"request": "1000000/minute"}'
"""Rate limits go by the real clock, by which two months pass in minutes."""


def served_app() -> FastAPI:
    """The application as a web server starts it, with what the environment names: the file of the clock, and how many
    uploads have one limited process."""
    vars(dependencies)["utc_now"] = SharedClock(Path(os.environ[CLOCK_FILE])).now
    os.environ["KENNEL_RATES"] = RATES
    app: FastAPI = import_module("api.main").served_app()  # only now: it imports the clock by its name
    uploads = vars(import_module("api.actions.zip_uploads"))
    uploads["reads_limited"] = one_in(int(os.environ[LIMITED_EVERY]))
    uploads["require_right_clock"] = lambda _: None  # the database's clock is not set
    return app


def one_in(every: int) -> Callable[[Any], bool]:
    """Whether a limited process opens the next upload, whatever the settings say: the first of so many."""
    uploads = itertools.count()
    return lambda _: next(uploads) % every == 0
