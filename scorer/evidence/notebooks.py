"""Notebooks, whose bytes a limited process reads: this module imports nothing else."""

import json
from collections.abc import Sequence


def is_notebook(parts: Sequence[bytes]) -> bool:
    """Whether bytes are a notebook. Parsed they take some thirty times their memory."""
    try:
        notebook = json.loads(parts[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(notebook, dict) and isinstance(notebook.get("cells"), list) and "nbformat" in notebook
