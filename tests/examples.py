"""The number of Hypothesis examples: a fifth by default, all of them with ``--hypothesis-profile full``."""

from hypothesis import settings

FULL, QUICK = 100, 20
MIN_EXAMPLES = 5
EVERYDAY = "quick"

settings.register_profile("full", max_examples=FULL, deadline=None)
settings.register_profile(EVERYDAY, max_examples=QUICK, deadline=None)


def examples(full: int, *, everyday: int | None = None) -> int:
    """Scale ``full``, the number of examples in the full profile, to the active one. ``everyday`` replaces a fifth."""
    if everyday is not None and settings().max_examples < FULL:
        return everyday
    return max(min(MIN_EXAMPLES, full), full * settings().max_examples // FULL)
