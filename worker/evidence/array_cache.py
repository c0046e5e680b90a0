"""Arrays that are made once and kept by name, wherever that is."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
ArrayCache = Callable[[str, Callable[[], Arrays]], Arrays]
"""Gives the arrays of a name as they were kept, or makes and keeps them."""


def no_cache(_name: str, make: Callable[[], Arrays]) -> Arrays:
    """Keeps nothing."""
    return make()
