"""The view ``scores`` as each migration made it: code goes on, history stays."""

from pathlib import Path


def scores(revision: str) -> str:
    """The statement with which ``revision`` makes the view."""
    return (Path(__file__).parent / f"scores_{revision}.sql").read_text()
