"""Detection of memorising entries: AUC and detection rate of every kind of evidence.

Every kind of evidence is one number per entry. AUC compares a method's entries with all honest ones: it is the
probability that the memorising entry looks more like copying. Ties count half.

The service has no honest entries for comparison. It has rules; each applies to an entry or does not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from benchmarks.zoo.entries import HONEST
from benchmarks.zoo.outcomes import Outcome, Zoo
from benchmarks.zoo.spaces import SpaceReading
from scorer.findings.signs import SIGNS, SMALL_SUPPORT, Sign, find_signs
from scorer.findings.summary import Summary, gravity, summarise_evidence
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.features import Vector
from scorer.metrics.mifid import is_copy, is_penalised
from scorer.metrics.statistics.class_separation import area_under_curve
from scorer.metrics.statistics.threshold_selection import choose_tau

EvidenceKind = Callable[[SpaceReading], float | None]
"""From a reading to a number. A smaller number looks more like copying; None if there is no number."""


@dataclass(frozen=True)
class Rule:
    """One of the service's rules. ``finds`` takes a reading and the initial tau of a track."""

    name: str
    finds: Callable[[SpaceReading, float], bool]
    p_value: str = "none"
    """The column with its p-value."""


def _column(name: str, sign: int) -> EvidenceKind:
    return lambda read: None if (number := read.numbers.get(name)) is None else sign * number


EVIDENCE: Mapping[str, EvidenceKind] = {
    "s": lambda read: read.distance,
    "Z_U": _column("z_u", 1),
    "C_T": _column("c_t", 1),
    "authenticity": _column("authenticity_share", 1),
    "near copies": _column("near_copies_share", -1),
    "upright only": _column("partly_copied_share", -1),
    "relative distance": _column("relative_share", -1),
    "membership": _column("membership_auc", -1),
    "perceptual hashes": _column("hash_share", -1),
    "repeats": _column("repeats_share", -1),
    "thumbnails": _column("thumbnail_share", -1),
    "equal pixels": lambda read: -read.copied,
}


def signs_in(read: SpaceReading) -> tuple[Sign, ...]:
    """The signs of copying that reviewers would see."""
    return find_signs(read.numbers, read.images)


def summary_in(read: SpaceReading) -> Summary:
    """The first sentence of the review page."""
    findings = [{"name": "pixel_copies", "value": read.copied}]
    return summarise_evidence(signs_in(read), read.numbers, findings, images=read.images)


def _shows(sign: str) -> Callable[[SpaceReading, float], bool]:
    return lambda read, _: sign in {found.name for found in signs_in(read)}


RULES = (
    Rule("s below tau", lambda read, tau: bool(is_penalised(read.distance, tau))),
    Rule("equal pixels", lambda read, _: bool(is_copy(read.distance, read.copied))),
    *(Rule(sign.name, _shows(sign.name), sign.p_value or "none") for sign in SIGNS if sign is not SMALL_SUPPORT),
    Rule("any sign", lambda read, _: bool(signs_in(read)), p_value="its signs'"),
)


def choose_opening(outcome: Outcome) -> Summary:
    """The first sentence of the review page: the most serious of both tracks."""
    summaries = [summary_in(outcome.readings[track]) for track in TRACK_KINDS]
    return min(summaries, key=lambda summary: gravity(summary.verdict, summary.share))


def compute_auc(zoo: Zoo, track: TrackKind, evidence: EvidenceKind, *methods: str) -> float:
    """AUC of a track's evidence between the entries of these methods and all honest ones.

    Raises ``ValueError`` if either has none.
    """
    memorising, honest = _values(zoo, track, evidence, methods=methods), _values(zoo, track, evidence, methods=HONEST)
    auc = area_under_curve(memorising, honest)
    if auc is None:
        raise ValueError(f"there are {len(memorising)} entries of {', '.join(methods)}, and {len(honest)} honest ones")
    return auc


def outcomes_found_by(zoo: Zoo, rule: Rule, *methods: str) -> tuple[Outcome, ...]:
    """The entries of these methods for which a rule applies on either track."""
    taus = {
        (seed.seed, track): choose_tau([], method="held_out", held_out_distance=seed.held_out_distance[track]).tau
        for seed in zoo.seeds
        for track in TRACK_KINDS
    }
    return tuple(
        outcome
        for outcome in zoo.of(*methods)
        if any(rule.finds(outcome.readings[track], taus[outcome.title.seed, track]) for track in TRACK_KINDS)
    )


def _values(zoo: Zoo, track: TrackKind, evidence: EvidenceKind, *, methods: tuple[str, ...]) -> Vector:
    """An unknown value counts as no sign of copying."""
    values = [evidence(outcome.readings[track]) for outcome in zoo.of(*methods)]
    return np.array([inf if value is None else value for value in values], np.float64)
