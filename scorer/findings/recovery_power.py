"""Findings on the power of latent recovery and on the reliability of its search.

The power is the smallest share of memorised training images that an audit finds. The reliability is the share of
targets that the search finds, by number of starts and from any start.
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
    """The detectable shares of memorised training images, for targets drawn at random and for those near an entry."""

    drawn: DetectableShares
    """The shares of all training images."""
    chosen: DetectableShares | None
    """The shares of training images near the entry; None where none were looked for."""
    held_out_share: float | None
    """The share of held-out images that are as near to the entry."""

    @property
    def near(self) -> DetectableShares | None:
        """``chosen`` as shares of all training images, if the entry is near all memorised ones."""
        if self.chosen is None or self.held_out_share is None:
            return None
        share = self.held_out_share
        with_80, with_95 = (
            of_all_training_images(detected, share) for detected in (self.chosen.with_80, self.chosen.with_95)
        )
        return DetectableShares(with_80, with_95)

    @property
    def sentence(self) -> str:
        """What an audit would find with 80 % probability."""
        if self.drawn.with_80 is None:
            return "With this few targets, the audit would find almost nothing."
        near = self.near
        also = ""
        if near is not None and near.with_80 is not None:
            also = f" (or {format_percent(near.with_80)}, if the entry is near them)"
        return (
            f"If the generator had memorised {format_percent(self.drawn.with_80)} of its training images{also}, 4 of 5"
            " such audits would detect it."
        )

    def as_json(self) -> dict[str, Any]:
        return {"random": asdict(self.drawn), "near": None if self.near is None else asdict(self.near)}


def power_findings(power: MemorisationPower) -> Iterator[Finding]:
    yield _finding("recovery_power", power.drawn, "")
    if power.near is not None:
        yield _finding("recovery_near_power", power.near, ", if the entry is near them")


def _finding(name: str, shares: DetectableShares, condition: str) -> Finding:
    if shares.with_80 is None:
        sentence = f"With this few targets, no share of memorised training images is reliably detected{condition}."
        return Finding(name, None, SHARE, LOWER, sentence)
    also = "" if shares.with_95 is None else f", and of {format_percent(shares.with_95)} with 95 % probability"
    sentence = (
        f"An audit detects memorization of {format_percent(shares.with_80)} of the training images with 80 %"
        f" probability{also}{condition}, according to {SIMULATIONS} simulated audits."
    )
    return Finding(name, shares.with_80, SHARE, LOWER, sentence)


def start_findings(by_start: Mapping[str, Vector]) -> Iterator[Finding]:
    """The share of the generator's own images found from one start, if the search used several."""
    errors = by_start.get("generated")
    if errors is None or len(errors) < 2:
        return
    plausible, verbatim = (success_by_start(errors)[name] for name in ("plausible", "verbatim"))
    sentence = (
        f"Of {errors.shape[1]} images produced by the generator, the search finds {format_percent(plausible[0])}"
        f" plausibly from one start and {format_percent(plausible[-1])} from {len(plausible)} starts; it finds"
        f" {format_percent(verbatim[0])} and {format_percent(verbatim[-1])} verbatim."
    )
    error = float(np.sqrt(plausible[0] * (1.0 - plausible[0]) / errors.shape[1]))
    yield Finding("recovery_one_start", plausible[0], SHARE, HIGHER, sentence, error, error_kind="sampling")


def stability_findings(stability: SearchStability) -> Iterator[Finding]:
    """The share of searches that find their target from any start."""
    starts, _, targets = stability.errors.shape
    found = stability.found
    needed = stability.iterations_needed
    pace = (
        "at least half of all searches never did"
        if needed is None
        else f"half of all searches did within {needed} iterations"
    )
    sentence = (
        f"Of {starts * targets} searches ({targets} images produced by the generator, from {starts} starts each),"
        f" {format_percent(float(found.mean()))} found the image verbatim; {pace}. The hardest image is found from"
        f" {format_percent(float(found.min()))} of the starts."
    )
    error = float(found.std(ddof=1) / np.sqrt(targets)) if targets > 1 else None
    kind: ErrorKind | None = None if error is None else "sampling"
    yield Finding("recovery_stability", float(found.mean()), SHARE, HIGHER, sentence, error, error_kind=kind)
