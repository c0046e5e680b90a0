"""The callbacks that long computations report their progress to."""

from collections.abc import Callable

ProgressCallback = Callable[[float], None]
"""Called with the finished share, in 0..1."""
StageProgress = Callable[[str, float], None]
"""Called with a stage and its finished share. May raise, which ends the computation."""
