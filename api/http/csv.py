"""Tables that leave as CSV."""


def escape_formula(cell: str) -> str:
    """A team name that a spreadsheet will not run as a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
