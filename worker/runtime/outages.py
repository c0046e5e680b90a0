"""What a task does while the database is busy or away."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from scorer.db.session import is_unavailable, unavailability
from scorer.errors import Unavailable

log = logging.getLogger(__name__)


@contextmanager
def one_line_in_outages() -> Iterator[None]:
    """End a task in one line while the database or the blob store is busy or away, or the clock is wrong, without a
    traceback: its next message, which a sweep sends, finds the same work."""
    try:
        yield
    except Unavailable as error:
        log.warning("a task was left undone: %s", error)
    except Exception as error:
        if not is_unavailable(error):
            raise
        log.warning("a task was left undone: %s", unavailability(error))
