"""The result of a generator audit, without torch: errors, image pairs, and the JSON report."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scorer.findings.latent_recovery import recovery_findings, recovery_sentence
from scorer.generators.latents import Latent
from scorer.generators.recovery.plan import AuditPlan, plan_from
from scorer.metrics.copying.latent_recovery import KolmogorovSmirnov, RecoveryTest, recovery_test
from scorer.metrics.features import Vector

Pixels = NDArray[np.uint8]
TargetKind = Literal["train", "held_out", "generated"]
TARGET_KINDS: tuple[TargetKind, ...] = ("train", "held_out", "generated")
SHOWN_PAIRS = 4
"""How many pairs of each of best, median and worst are shown."""


@dataclass(frozen=True, eq=False)
class TargetPairs:
    """Targets and their recovered images, (k, s, s, 3) uint8 each: the best four, the middle four, the worst four."""

    target: Pixels
    recovered: Pixels
    error: Vector
    """(k,) ascending."""
    index: NDArray[np.int64]
    """(k,) the target's index in its set; of generated targets, the number of the draw."""


@dataclass(frozen=True, eq=False)
class Audit:
    """The recovery errors (n,) of every kind of target, and what follows from them."""

    plan: AuditPlan
    latent: Latent
    errors: Mapping[str, Vector]
    """``train``, ``held_out``, ``generated`` (unless an encoder took the place of the search)."""
    distorted: Mapping[str, Vector]
    """``warp_train``, ``warp_generated`` and so on: errors of the first targets of that kind, distorted."""
    likeness: KolmogorovSmirnov
    """Of the roughness of training and held-out targets: whether the two sets are alike."""
    pairs: Mapping[str, TargetPairs] = field(default_factory=dict)
    evaluations: int = 0
    """How many images the generator made with their gradients."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """What the generator was and how it was run; JSON."""

    @property
    def recovery(self) -> RecoveryTest:
        """The test of training against held-out errors."""
        return recovery_test(self.errors["train"], self.errors["held_out"], self.errors.get("generated"))

    def report(self) -> dict[str, Any]:
        """All but the images, as JSON: verdict, sentence, findings, numbers, all errors, plan."""
        recovery = self.recovery
        return {
            "verdict": recovery.verdict,
            "sentence": recovery_sentence(recovery, self.likeness),
            "findings": [
                asdict(each) for each in recovery_findings(recovery, self.errors, self.distorted, self.likeness)
            ],
            "measured": {
                "p_value": recovery.test.p_value,
                "p_smaller": recovery.test.p_smaller,
                "statistic": recovery.test.statistic,
                "gap": recovery.gap,
                "gap_low": recovery.gap_low,
                "gap_high": recovery.gap_high,
                "generated_verbatim": None if recovery.generated is None else recovery.generated.verbatim,
            },
            "targets": {kind: len(self.errors[kind]) for kind in TARGET_KINDS if kind in self.errors},
            "errors": {kind: np.sort(self.errors[kind]).tolist() for kind in TARGET_KINDS if kind in self.errors},
            "latent": asdict(self.latent),
            "plan": self.plan.as_json(),
            "evaluations": self.evaluations,
            "provenance": dict(self.provenance),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the report does not hold in full, for ``numpy.savez``; nothing needs pickling."""
        arrays: dict[str, NDArray[Any]] = {f"errors.{kind}": values for kind, values in self.errors.items()}
        arrays |= {f"distorted.{kind}": values for kind, values in self.distorted.items()}
        arrays |= {
            f"pairs.{kind}.{name}": getattr(pairs, name)
            for kind, pairs in self.pairs.items()
            for name in ("target", "recovered", "error", "index")
        }
        like = self.likeness
        arrays["likeness"] = np.array([like.statistic, like.p_value, like.excess, like.p_smaller])
        return arrays

    def sheet(self) -> Pixels:
        """All pairs as one image (h, w, 3) uint8: for each kind a row of targets over a row of recovered images.

        From left to right the best four, the middle four, the worst four; kinds in the order train, held-out,
        generated; white lines between the images.
        """
        rows = []
        for kind in TARGET_KINDS:
            if kind in self.pairs:
                rows += [_row(self.pairs[kind].target), _row(self.pairs[kind].recovered)]
        width = max(row.shape[1] for row in rows)
        padded = [np.pad(row, ((0, 2), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
        return np.concatenate(padded)


def audit_from(report: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Audit:
    """The audit of a report and arrays as :meth:`Audit.report` and :meth:`Audit.arrays` gave them."""
    statistic, p_value, excess, p_smaller = (float(each) for each in arrays["likeness"])
    errors = {name.split(".")[1]: arrays[name] for name in arrays if name.startswith("errors.")}
    kinds = {name.split(".")[1] for name in arrays if name.startswith("pairs.")}
    return Audit(
        plan=plan_from(report["plan"]),
        latent=Latent(**report["latent"]),
        errors=errors,
        distorted={name.split(".")[1]: arrays[name] for name in arrays if name.startswith("distorted.")},
        likeness=KolmogorovSmirnov(statistic, p_value, excess, p_smaller, None),
        pairs={
            kind: TargetPairs(
                **{name: arrays[f"pairs.{kind}.{name}"] for name in ("target", "recovered", "error", "index")}
            )
            for kind in TARGET_KINDS
            if kind in kinds
        },
        evaluations=int(report["evaluations"]),
        provenance=dict(report["provenance"]),
    )


def shown_targets(errors: Vector) -> NDArray[np.int64]:
    """Indices of the targets to show: the best, middle and worst four of errors (n,), ascending, each once."""
    order = np.argsort(errors, kind="stable")
    middle = max(0, (len(order) - SHOWN_PAIRS) // 2)
    places = {*range(SHOWN_PAIRS), *range(middle, middle + SHOWN_PAIRS), *range(len(order) - SHOWN_PAIRS, len(order))}
    return order[[place for place in sorted(places) if 0 <= place < len(order)]]


def _row(images: Pixels) -> Pixels:
    spaced = np.pad(images, ((0, 0), (0, 0), (0, 2), (0, 0)), constant_values=255)
    return np.concatenate(list(spaced), axis=1)
