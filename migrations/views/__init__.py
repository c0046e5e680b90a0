"""The view ``scores`` as the migrations made it: code goes on, history stays."""

from pathlib import Path


def scores(version: str) -> str:
    """The statement that makes a version of the view."""
    return (Path(__file__).parent / f"scores_{version}.sql").read_text()
