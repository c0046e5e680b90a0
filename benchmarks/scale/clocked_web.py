"""The service's web application, whose present time is that of a :class:`~benchmarks.scale.clock.SharedClock`."""

import os
from importlib import import_module
from pathlib import Path

from fastapi import FastAPI

from api.http import dependencies
from benchmarks.scale.clock import CLOCK_FILE, SharedClock

RATES = '{"request": "1000000/minute"}'
"""Rate limits go by the real clock, by which two months pass in minutes."""


def served_app() -> FastAPI:
    """The application as a web server starts it, with the clock in the file that the environment names."""
    vars(dependencies)["utc_now"] = SharedClock(Path(os.environ[CLOCK_FILE])).now
    os.environ["KENNEL_RATES"] = RATES
    app: FastAPI = import_module("api.main").served_app()  # only now: it imports the clock by its name
    return app
