"""A cache of named arrays: its type, and the cache that stores nothing. Where arrays lie is the caller's choice."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
ArrayCache = Callable[[str, Callable[[], Arrays]], Arrays]
"""Returns the arrays stored under a name, or makes and stores them."""


def no_cache(_name: str, make: Callable[[], Arrays]) -> Arrays:
    """Make the arrays and store nothing."""
    return make()
