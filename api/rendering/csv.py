"""Escapes cells of CSV files against formula injection."""

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def escape_formula(cell: str) -> str:
    """The cell, with a quote before it if a spreadsheet would run it as a formula; some read full-width signs, too."""
    return f"'{cell}" if cell.startswith(FORMULA_SIGNS) else cell
