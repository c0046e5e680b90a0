"""One hostile input: bytes, what was done to them, and what must become of them."""

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Fate(Enum):
    """What must become of an input."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    EITHER = "either"
    """Random damage: refused, or accepted as what an independent reader finds in it."""


@dataclass(frozen=True)
class HostileInput:
    """``kind`` is what was done. ``truth`` is what an accepted input must give: a zip's pixels, or an ONNX file that
    makes the same images, where another reader may refuse this one."""

    kind: str
    content: bytes
    fate: Fate
    truth: Any = None


def combined(fates: list[Fate]) -> Fate:
    """The fate of an input with several changes: one that must be refused decides."""
    for fate in (Fate.REFUSED, Fate.EITHER):
        if fate in fates:
            return fate
    return Fate.ACCEPTED
