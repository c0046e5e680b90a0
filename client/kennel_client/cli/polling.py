"""Waiting for what the service does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

from kennel_client.cli.connection import say
from kennel_client.waiting import POLL_SECONDS

View = TypeVar("View")


def wait_until(done: Callable[[View], bool], look: Callable[[], View], line_of: Callable[[View], str]) -> View:
    """What ``look`` returns once it is done; until then, each new line goes to standard error."""
    last_printed = ""
    while not done(view := look()):
        line = line_of(view)
        if line != last_printed:
            say(line)
            last_printed = line
        time.sleep(POLL_SECONDS)
    return view
