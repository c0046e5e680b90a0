"""Escapes cells of CSV files against formula injection."""


def escape_formula(cell: str) -> str:
    """The cell, with a quote before it if a spreadsheet would run it as a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
