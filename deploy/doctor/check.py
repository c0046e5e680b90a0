"""A check of an installation: its name, what it looks at, and what to do where something is wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from deploy.doctor.installation import Installation

State = Literal["ok", "wrong", "skipped"]


class Fault(Exception):
    """What is wrong, in a sentence."""


class Skipped(Exception):
    """Why there is nothing to look at here."""


@dataclass(frozen=True)
class Check:
    """``look`` returns what is well, in words, or raises ``Fault`` or ``Skipped``; any other error is a fault, too."""

    name: str
    look: Callable[[Installation], str]
    remedy: str
    needs: Sequence[str] = ()
    """The checks without whose success this one is skipped: what cannot be reached has no other faults."""


@dataclass(frozen=True)
class Outcome:
    """What a check has found, and the remedy where it is wrong."""

    name: str
    state: State
    finding: str
    remedy: str | None = None
