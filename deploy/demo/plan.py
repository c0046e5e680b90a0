"""What a demo runs: how many entries, images and reference images, and whose evidence it shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.demo.entries import ENTRIES

SEED = 2019


USUAL_REFERENCES: Mapping[str, int] = {"train": 300, "held_out": 120, "private_extra": 60}
"""Reference images by role; the full demo takes all that there are."""


@dataclass(frozen=True)
class DemoPlan:
    """What to run: photographs from ``folder`` (None: the built-in ones), ``images`` per entry, the first ``entries``.

    ``full``: with all reference images, and with the evidence of every entry on both tracks; otherwise only with the
    public evidence of the entries that are expected to show signs of copying.
    """

    folder: Path | None
    images: int
    entries: int
    full: bool


def plan_of(folder: Path | None, images: int | None, entries: int | None, *, full: bool) -> DemoPlan:
    """The plan for what was asked for; None takes the usual number of images and entries, or the full one."""
    usual = (400, len(ENTRIES)) if full else (100, 8)
    return DemoPlan(folder, images or usual[0], entries or usual[1], full)
