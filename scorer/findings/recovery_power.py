"""Findings of the power of latent recovery, the share of remembered training images from which it finds them, and of
how far its search can be trusted: by number of starts, and from any start.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scorer.findings.finding import HIGHER, LOWER, SHARE, ErrorKind, Finding
from scorer.findings.formatting import format_percent
from scorer.metrics.copying.recovery_power import (
    SIMULATIONS,
    DetectableShares,
    SearchStability,
    of_all_training_images,
    success_by_start,
)
from scorer.metrics.features import Vector


@dataclass(frozen=True)
class MemorisationPower:
    """The detectable shares of remembered training images, of targets drawn at random and of those near to an entry."""

    drawn: DetectableShares
    """Of all training images."""
    chosen: DetectableShares | None
    """Of those near to the entry; None where none were looked for."""
    held_out_share: float | None
    """The share of held-out images that are as near."""

    @property
    def near(self) -> DetectableShares | None:
        """``chosen`` as shares of all training images, for remembered ones that the entry is near to."""
        if self.chosen is None or self.held_out_share is None:
            return None
        share = self.held_out_share
        with_80, with_95 = (of_all_training_images(each, share) for each in (self.chosen.with_80, self.chosen.with_95))
        return DetectableShares(with_80, with_95)

    @property
    def phrase(self) -> str:
        """What would have been found with 80 % probability, to follow a sentence that says that nothing was."""
        if self.drawn.with_80 is None:
            return "with so few targets hardly anything would have been found"
        near = self.near
        also = ""
        if near is not None and near.with_80 is not None:
            also = f", or {format_percent(near.with_80)} where its entry is near to them"
        return f"had it remembered {format_percent(self.drawn.with_80)} of them{also}, 4 of 5 such audits would show it"

    def as_json(self) -> dict[str, Any]:
        """The shares of all training images, by kind of targets."""
        return {"random": asdict(self.drawn), "near": None if self.near is None else asdict(self.near)}


def power_findings(power: MemorisationPower) -> Iterator[Finding]:
    """The detectable share by either kind of targets."""
    yield _finding("recovery_power", power.drawn, "")
    if power.near is not None:
        yield _finding("recovery_near_power", power.near, ", if the entry is near to these")


def _finding(name: str, shares: DetectableShares, condition: str) -> Finding:
    if shares.with_80 is None:
        sentence = f"With so few targets no share of remembered training images is sure to be found{condition}."
        return Finding(name, None, SHARE, LOWER, sentence)
    sure = "no share" if shares.with_95 is None else format_percent(shares.with_95)
    sentence = (
        f"A generator that remembers {format_percent(shares.with_80)} of its training images is found with 80 %"
        f" probability, and with 95 % one that remembers {sure}{condition}; counted in {SIMULATIONS} simulated audits."
    )
    return Finding(name, shares.with_80, SHARE, LOWER, sentence)


def start_findings(by_start: Mapping[str, Vector]) -> Iterator[Finding]:
    """What further starts have found of the generator's own images, if there were any."""
    errors = by_start.get("generated")
    if errors is None or len(errors) < 2:
        return
    plausible, verbatim = (success_by_start(errors)[name] for name in ("plausible", "verbatim"))
    sentence = (
        f"Of {errors.shape[1]} images of its own {format_percent(plausible[0])} are found plausibly from one start and"
        f" {format_percent(plausible[-1])} from {len(plausible)}, verbatim {format_percent(verbatim[0])} and"
        f" {format_percent(verbatim[-1])}."
    )
    error = float(np.sqrt(plausible[0] * (1.0 - plausible[0]) / errors.shape[1]))
    yield Finding("recovery_one_start", plausible[0], SHARE, HIGHER, sentence, error, error_kind="sampling")


def stability_findings(stability: SearchStability) -> Iterator[Finding]:
    """The share of searches that find their target, whatever the start."""
    starts, _, targets = stability.errors.shape
    found = stability.found
    needed = stability.iterations_needed
    pace = "and half of them never did" if needed is None else f"half of them after {needed} iterations"
    sentence = (
        f"Of {starts * targets} searches, {targets} images of its own from {starts} starts each,"
        f" {format_percent(float(found.mean()))} found the image verbatim, {pace}; the hardest image is found from"
        f" {format_percent(float(found.min()))} of the starts."
    )
    error = float(found.std(ddof=1) / np.sqrt(targets)) if targets > 1 else None
    kind: ErrorKind | None = None if error is None else "sampling"
    yield Finding("recovery_stability", float(found.mean()), SHARE, HIGHER, sentence, error, error_kind=kind)
