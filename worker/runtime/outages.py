"""What a task does while the database is busy or away."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from scorer.db.session import is_unavailable, unavailability

log = logging.getLogger(__name__)


@contextmanager
def one_line_without_database() -> Iterator[None]:
    """End a task in one line while the database is busy or away, without a traceback: its next message, which a sweep
    sends, finds the same work."""
    try:
        yield
    except Exception as error:
        if not is_unavailable(error):
            raise
        log.warning("a task was left undone: %s", unavailability(error))
