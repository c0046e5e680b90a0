"""The number of Hypothesis examples: a fifth by default, all of them with ``--hypothesis-profile full``."""

from hypothesis import settings

FULL, QUICK = 100, 20
LEAST = 5
EVERYDAY = "quick"

settings.register_profile("full", max_examples=FULL, deadline=None)
settings.register_profile(EVERYDAY, max_examples=QUICK, deadline=None)


def examples(full: int) -> int:
    """How many of so many examples the present profile tries."""
    return max(min(LEAST, full), full * settings().max_examples // FULL)
