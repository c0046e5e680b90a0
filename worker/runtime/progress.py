"""The type of the callback by which a job reports its progress."""

from collections.abc import Callable

StageProgress = Callable[[str, float], None]
"""Receives the stage of the work and its finished share."""
