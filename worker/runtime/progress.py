"""The callback by which a worker's function reports how far it is."""

from collections.abc import Callable

StageProgress = Callable[[str, float], None]
"""Hears the stage of the work, and the finished share of it."""
