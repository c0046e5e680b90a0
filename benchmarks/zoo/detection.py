"""Detection of memorising entries: AUC and detection rate of every kind of evidence.

Every kind of evidence is one number of an entry. Over the entries of a method and all honest ones AUC is the
probability that the memorising one looks more like copying, ties half. As a threshold serves the honest entry that
looks most like copying, of the seeds on which thresholds are fixed; the others have entries beyond it, or not.

The service has no honest entries to compare with: it has rules, and each applies to an entry or does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np

from benchmarks.zoo.entries import HONEST, Title
from benchmarks.zoo.outcomes import Outcome, Zoo
from benchmarks.zoo.spaces import SpaceReading
from scorer.findings.signs import SIGNS, FoundSign, Sign, signs_of
from scorer.findings.summary import Summary, gravity, summary_of
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.metrics.features import Vector
from scorer.metrics.mifid import is_copy, is_penalised
from scorer.metrics.statistics.class_separation import area_under_curve
from scorer.metrics.statistics.false_discovery import BINS, bins_of, q_value_of, q_values
from scorer.metrics.statistics.threshold_selection import choose_tau


@dataclass(frozen=True)
class EvidenceKind:
    """One kind of evidence. The smaller ``value`` of a reading, the more like copying; None if there is no value."""

    name: str
    value: Callable[[SpaceReading], float | None]
    column: str | None = None
    """The column of evidence that it reads, where results may be older than that."""


@dataclass(frozen=True)
class Rule:
    """One of the service's rules: whether it applies to a reading, given the tau that a track begins with."""

    name: str
    finds: Callable[[SpaceReading, float], bool]
    columns: frozenset[str] = frozenset()
    """The columns of evidence that it looks at."""
    p_value: str = "none"
    """The column with its p-value."""


def _min_column(column: str) -> Callable[[SpaceReading], float | None]:
    return lambda read: read.numbers.get(column)


def _max_column(column: str) -> Callable[[SpaceReading], float | None]:
    def value(read: SpaceReading) -> float | None:
        number = read.numbers.get(column)
        return None if number is None else -number

    return value


EVIDENCE = (
    EvidenceKind("s", lambda read: read.distance),
    EvidenceKind("Z_U", _min_column("z_u")),
    EvidenceKind("C_T", _min_column("c_t")),
    EvidenceKind("authenticity", _min_column("authenticity_share")),
    EvidenceKind("near copies", _max_column("near_copies_share")),
    EvidenceKind("upright alone", _max_column("partly_copied_share")),
    EvidenceKind("relative distance", _max_column("relative_share"), "relative_share"),
    EvidenceKind("membership", _max_column("membership_auc"), "membership_auc"),
    EvidenceKind("perceptual hashes", _max_column("hash_share"), "hash_share"),
    EvidenceKind("repeats", _max_column("repeats_share")),
    EvidenceKind("thumbnails", _max_column("thumbnail_share")),
    EvidenceKind("equal pixels", lambda read: -read.copied),
)


def signs_in(read: SpaceReading) -> tuple[Sign, ...]:
    """The signs of copying that reviewers would see."""
    return signs_of(read.numbers, read.images)


def summary_in(read: SpaceReading) -> Summary:
    """What the desk would open with."""
    findings = [{"name": "pixel_copies", "value": read.copied}]
    return summary_of(signs_in(read), read.numbers, findings, read.images)


def _shows(sign: str) -> Callable[[SpaceReading, float], bool]:
    return lambda read, _: sign in {each.name for each in signs_in(read)}


class _Columns:
    """Unknown numbers that remember their names."""

    def __init__(self) -> None:
        self.names = set[str]()

    def __getattr__(self, name: str) -> float:
        self.names.add(name)
        return nan


def _columns_of(sign: Sign) -> frozenset[str]:
    sign.holds(columns := _Columns())
    return frozenset(columns.names - {"images"})


RULES = (
    Rule("s below tau", lambda read, tau: bool(is_penalised(read.distance, tau))),
    Rule("equal pixels", lambda read, _: bool(is_copy(read.distance, read.copied))),
    *(Rule(sign.name, _shows(sign.name), _columns_of(sign), sign.p_value or "none") for sign in SIGNS),
    Rule("any sign", lambda read, _: bool(signs_in(read)), p_value="its signs'"),
)


def opening_of(outcome: Outcome) -> Summary:
    """The sentence with which the desk opens: the gravest of both tracks."""
    summaries = [summary_in(outcome.readings[track]) for track in TRACK_KINDS]
    return min(summaries, key=lambda each: gravity(each.verdict, each.share))


def unsure_signs(outcomes: Sequence[Outcome]) -> list[tuple[Title, TrackKind, str]]:
    """The signs that the desk's sentence does not count, as likely false discoveries, if these entries are all of a
    competition."""
    columns = {sign.p_value for sign in SIGNS if sign.p_value}
    readings = [(outcome.title, track, read) for outcome in outcomes for track, read in outcome.readings.items()]
    known = [number for *_, read in readings for name, number in read.numbers.items() if name in columns]
    by_bin = q_values(np.bincount(bins_of(np.array([each for each in known if each is not None])), minlength=BINS))
    found = []
    for title, track, read in readings:
        for sign in signs_in(read):
            p_value = read.numbers[sign.p_value] if sign.p_value else None
            q_value = None if p_value is None else q_value_of(p_value, by_bin)
            if not FoundSign(sign, q_value).is_sure:
                found.append((title, track, sign.name))
    return found


def measured_rules(zoo: Zoo) -> tuple[Rule, ...]:
    """The rules whose evidence the zoo has: its results may be older than a sign."""
    known = _known_columns(zoo)
    return tuple(rule for rule in RULES if rule.columns <= known)


def measured_evidence(zoo: Zoo) -> tuple[EvidenceKind, ...]:
    """The kinds of evidence that the zoo has: its results may be older than one."""
    known = {*_known_columns(zoo), None}
    return tuple(kind for kind in EVIDENCE if kind.column in known)


def _known_columns(zoo: Zoo) -> set[str]:
    return {name for outcome in zoo.outcomes for read in outcome.readings.values() for name in read.numbers}


def auc_of(zoo: Zoo, track: TrackKind, evidence: EvidenceKind, *methods: str) -> float:
    """AUC of a track's evidence between the entries of these methods and all honest ones.

    Raises ``ValueError`` if there are none of either.
    """
    memorising, honest = _values(zoo, track, evidence, methods), _values(zoo, track, evidence, HONEST)
    auc = area_under_curve(memorising, honest)
    if auc is None:
        raise ValueError(f"there are {len(memorising)} entries of {', '.join(methods)}, and {len(honest)} honest ones")
    return auc


def threshold_of(zoo: Zoo, track: TrackKind, evidence: EvidenceKind) -> float:
    """The value of the honest entry that looks most like copying."""
    return float(_values(zoo, track, evidence, HONEST).min())


def caught_by(zoo: Zoo, track: TrackKind, evidence: EvidenceKind, threshold: float, *methods: str) -> int:
    """How many entries of these methods look more like copying than a threshold says."""
    return int((_values(zoo, track, evidence, methods) < threshold).sum())


def outcomes_found_by(zoo: Zoo, rule: Rule, *methods: str) -> tuple[Outcome, ...]:
    """The entries of these methods to which a rule of the service applies on either track."""
    taus = {
        (each.seed, track): choose_tau([], method="heldout", heldout_distance=each.fresh[track]).tau
        for each in zoo.seeds
        for track in TRACK_KINDS
    }
    return tuple(
        each
        for each in zoo.of(*methods)
        if any(rule.finds(each.readings[track], taus[each.title.seed, track]) for track in TRACK_KINDS)
    )


def _values(zoo: Zoo, track: TrackKind, evidence: EvidenceKind, methods: tuple[str, ...]) -> Vector:
    """Where nothing is known, nothing looks like copying."""
    values = [evidence.value(each.readings[track]) for each in zoo.of(*methods)]
    return np.array([inf if value is None else value for value in values], np.float64)
