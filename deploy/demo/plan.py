"""The plan of a demo: number of entries, images and reference images, and the evidence it shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.demo.entries import ENTRIES

SEED = 2019


USUAL_REFERENCES: Mapping[str, int] = {"train": 300, "held_out": 120, "private_extra": 60}
"""Reference images by role; the full demo uses all."""


@dataclass(frozen=True)
class DemoPlan:
    """Photographs from ``folder`` (None: the built-in ones), ``images`` per entry, the first ``entries`` of the list.

    ``full``: with all reference images, and evidence for every entry on both tracks. Otherwise only public evidence,
    for entries that are expected to show signs of copying.
    """

    folder: Path | None
    images: int
    entries: int
    full: bool


def build_plan(folder: Path | None, images: int | None, entries: int | None, *, full: bool) -> DemoPlan:
    """The plan for the given options; None means the usual number of images and entries, or the full one."""
    usual = (400, len(ENTRIES)) if full else (100, 8)
    return DemoPlan(folder, images or usual[0], entries or usual[1], full)
