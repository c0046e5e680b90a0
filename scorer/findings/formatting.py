"""Shares, p-values, counts and durations as text for people."""

MINUTE, HOUR, DAY, MONTH = 60, 3600, 86_400, 2_629_746
SPANS = ((2 * MONTH, MONTH, "month"), (2 * DAY, DAY, "day"), (HOUR, HOUR, "hour"), (MINUTE, MINUTE, "minute"))
"""Minimum seconds, seconds of the unit, its name. A deadline within two days is given in hours."""


def format_percent(share: float) -> str:
    """A share as ``62 %``. Near the ends it has as many decimals as it needs to differ from 0 % and 100 %."""
    if share in {0.0, 1.0}:
        return f"{share:.0%}".replace("%", " %")
    for decimals in range(6):
        percent = f"{100 * share:.{decimals}f}"
        if 0.5 * 10**-decimals <= 100 * share and float(percent) < 100 and (decimals or 10 <= 100 * share <= 99):
            return f"{percent} %"
    return "almost 0 %" if share < 0.5 else "almost 100 %"


def format_p_value(value: float) -> str:
    """A p-value as ``p = 0.023``, or ``p < 0.0001``."""
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun: ``1 team``, ``1,204 teams``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def span(seconds: float) -> str:
    """A duration in its largest sensible unit, rounded down: ``3 hours``. Shorter ones are ``less than a minute``."""
    for min_seconds, unit, name in SPANS:
        if seconds >= min_seconds:
            return counted(int(seconds // unit), name)
    return "less than a minute"


def before_or_after(seconds: float) -> str:
    """How long something happened before (positive) or after something else: ``3 days before``, ``5 seconds after``."""
    how_long = abs(seconds)
    exact = counted(int(how_long), "second") if how_long >= 1 else "less than a second"
    return f"{exact if how_long < MINUTE else span(how_long)} {'before' if seconds >= 0 else 'after'}"
