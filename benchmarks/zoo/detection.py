"""Which evidence tells memorising entries from honest ones, and how well.

Every kind of evidence is one number of an entry. Over the entries of a method and all honest ones: AUC is the
probability that the memorising one looks more like copying, ties half; the detection rate at zero false positives is
the share of the memorising entries that look more like copying than every honest one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from benchmarks.zoo.outcomes import Outcome, Zoo
from benchmarks.zoo.roster import HONEST
from benchmarks.zoo.spaces import Reading
from scorer.metrics.features import Vector
from scorer.metrics.mifid import COPIED_SHARE
from scorer.metrics.separation import area_under_curve

LEVEL, LEAST = 0.01, 0.05
"""The service's own: p-values below the first, for shares of images at least the second, are findings."""


@dataclass(frozen=True)
class Evidence:
    """One kind of evidence.

    ``value`` of an entry and its reading: the smaller, the more like copying. ``finds`` says whether the service would
    call it a finding, from entry, reading and the held-out photographs' memorization distance in this space.
    """

    name: str
    value: Callable[[Outcome, Reading], float]
    finds: Callable[[Outcome, Reading, float], bool]


@dataclass(frozen=True)
class Detected:
    """How a method's entries stand out from the honest ones."""

    auc: float
    caught: int
    entries: int

    @property
    def rate(self) -> float:
        """The detection rate at zero false positives."""
        return self.caught / self.entries


def _many(share: float, p_value: float) -> bool:
    return share >= LEAST and p_value < LEVEL


EVIDENCE = (
    Evidence("s", lambda _, read: read.distance, lambda _, read, fresh: read.distance < fresh / 2),
    Evidence("Z_U", lambda _, read: read.z_u, lambda _, read, __: read.z_u_p < LEVEL),
    Evidence(
        "C_T",
        lambda _, read: inf if read.c_t is None else read.c_t,
        lambda _, read, __: read.c_t_p is not None and read.c_t_p < LEVEL,
    ),
    Evidence("authenticity", lambda _, read: read.authenticity, lambda _, read, __: read.authenticity_p < LEVEL),
    Evidence(
        "near copies",
        lambda _, read: -read.near_copies,
        lambda _, read, __: _many(read.near_copies, read.near_copies_p),
    ),
    Evidence(
        "upright alone",
        lambda _, read: -read.partly_copied,
        lambda _, read, __: _many(read.partly_copied, read.partly_copied_p),
    ),
    Evidence("repeats", lambda _, read: -read.repeats, lambda _, read, __: _many(read.repeats, read.repeats_p)),
    Evidence("equal pixels", lambda each, _: -each.copied, lambda each, _, __: each.copied > COPIED_SHARE),
)


def detected(zoo: Zoo, track: str, evidence: Evidence, *methods: str) -> Detected:
    """How well a track's evidence tells the entries of these methods from all honest ones; there must be both."""
    own, honest = _values(zoo, track, evidence, methods), _values(zoo, track, evidence, HONEST)
    auc = area_under_curve(own, honest)
    if auc is None:
        raise ValueError(f"there are {len(own)} entries of {', '.join(methods)}, and {len(honest)} honest ones")
    return Detected(auc, int((own < honest.min()).sum()), len(own))


def findings(zoo: Zoo, track: str, evidence: Evidence, *methods: str) -> tuple[int, int]:
    """How many entries of these methods the service would find something in, and how many there are."""
    entries, fresh = zoo.of(*methods), zoo.fresh[track]
    return sum(evidence.finds(each, each.readings[track], fresh) for each in entries), len(entries)


def _values(zoo: Zoo, track: str, evidence: Evidence, methods: tuple[str, ...]) -> Vector:
    return np.array([evidence.value(each, each.readings[track]) for each in zoo.of(*methods)], np.float64)
