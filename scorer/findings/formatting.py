"""Shares and p-values as text for people."""


def format_percent(share: float) -> str:
    """A share as ``62 %``; near the ends with as many decimals as it takes to differ from 0 % and 100 %."""
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
