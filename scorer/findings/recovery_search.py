"""Findings of how far the search of latent recovery can be trusted: by number of starts, and from any start."""

from collections.abc import Iterator, Mapping

import numpy as np

from scorer.findings.finding import HIGHER, SHARE, ErrorKind, Finding
from scorer.findings.formatting import format_percent
from scorer.metrics.copying.recovery_search import SearchStability, success_by_start
from scorer.metrics.features import Vector


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
