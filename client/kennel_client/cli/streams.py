"""The encoding of standard output: names are anybody's, and not every terminal or pipe has a character for them."""

import sys
from io import TextIOWrapper
from typing import TextIO


def escape_unknown_characters() -> None:
    """Print characters that standard output does not have as escapes, where Python would raise an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def utf8_output() -> TextIO:
    """Standard output in UTF-8, for JSON and CSV: programs read these, whatever the terminal's encoding is."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    return sys.stdout
