"""Shares and p-values as people read them."""


def format_percent(share: float) -> str:
    """``62 %``; near the ends as many decimals as it takes to be neither none nor all."""
    if share in {0.0, 1.0}:
        return f"{share:.0%}".replace("%", " %")
    for decimals in range(6):
        shown = f"{100 * share:.{decimals}f}"
        if 0.5 * 10**-decimals <= 100 * share and float(shown) < 100 and (decimals or 10 <= 100 * share <= 99):
            return f"{shown} %"
    return "almost 0 %" if share < 0.5 else "almost 100 %"


def format_p_value(value: float) -> str:
    """``p = 0.023``, or that it is very small."""
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"
