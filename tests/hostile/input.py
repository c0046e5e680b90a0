"""One hostile input: its bytes, the kind of change, and the required outcome."""

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Fate(Enum):
    """The required outcome of an input."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    EITHER = "either"
    """For random damage: refused, or accepted with the images that an independent reader finds."""


@dataclass(frozen=True)
class HostileInput:
    """``kind`` is the change. ``truth`` is the required result of an accepted input.

    For a zip, ``truth`` is its pixels. For an ONNX file that other readers may refuse, it is a file that makes the same
    images.
    """

    kind: str
    content: bytes
    fate: Fate
    truth: Any = None


def combined(fates: list[Fate]) -> Fate:
    """The outcome of an input with several changes. It is refused if one of them requires that."""
    for fate in (Fate.REFUSED, Fate.EITHER):
        if fate in fates:
            return fate
    return Fate.ACCEPTED
