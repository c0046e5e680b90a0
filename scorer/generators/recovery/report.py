"""The result of a generator audit, without torch: errors, image pairs, and the JSON report."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.findings.finding import Finding, with_interval_coverage
from scorer.findings.generator_match import match_findings, match_sentence
from scorer.findings.latent_recovery import recovery_findings, recovery_sentence
from scorer.findings.recovery_power import MemorisationPower, power_findings, stability_findings, start_findings
from scorer.generators.latents import Latent
from scorer.generators.recovery.plan import AuditPlan, plan_from
from scorer.generators.recovery.targets import Pixels
from scorer.metrics.copying.generator_match import GeneratorMatch, generator_match
from scorer.metrics.copying.latent_recovery import (
    TARGET_KINDS,
    KolmogorovSmirnov,
    RecoveryComparisons,
    RecoveryTest,
    recovery_test,
)
from scorer.metrics.copying.recovery_power import SearchStability, detectable_memorisation, success_by_start
from scorer.metrics.features import Vector
from scorer.metrics.sample_quality.two_sample import TwoSample

SHOWN_PAIRS = 4
"""The number of pairs shown of each of the best, the median and the worst."""


@dataclass(frozen=True, eq=False)
class TargetPairs:
    """Targets and their recovered images, (k, s, s, 3) uint8 each: the best four, the middle four, the worst four."""

    target: Pixels
    recovered: Pixels
    error: Vector
    """(k,) ascending."""
    index: NDArray[np.int64]
    """(k,) the target's index in its set; for a generated target, the number of its draw; for an entry image, the place
    among the images searched for."""


@dataclass(frozen=True, eq=False)
class Audit:
    """The recovery errors (n,) of every kind of target, and the conclusions from them."""

    plan: AuditPlan
    latent: Latent | None
    """None for a generator that takes images."""
    errors: Mapping[str, Vector]
    """By kind of target: ``train`` and ``held_out``, and the other kinds that were searched for. ``others``: images of
    other generators."""
    distorted: Mapping[str, Vector]
    """``warp_train``, ``warp_generated`` and so on: the errors of the first targets of that kind, distorted."""
    likeness: KolmogorovSmirnov
    """The test on the roughness of training and held-out targets: whether the two sets are alike."""
    pairs: Mapping[str, TargetPairs] = field(default_factory=dict)
    evaluations: int = 0
    """The number of images that the generator made with their gradients."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """The generator and how it was run, as JSON."""
    by_start: Mapping[str, Vector] = field(default_factory=dict)
    """By kind of target, the best errors so far after each start, (starts, n)."""
    stability: SearchStability | None = None
    """How much a search depends on its start, if the plan asks for it."""
    near_share: float | None = None
    """The share of all held-out images that are near the entry; None without ``near_train`` and ``near_held_out``."""
    samples: Pixels | None = None
    """Images newly drawn from the generator, (k, s, s, 3), if an entry is compared."""
    features: TwoSample | None = None
    """The comparison of the features of ``samples`` and the entry, if there is one. The search does not make it."""

    @property
    def comparisons(self) -> RecoveryComparisons:
        errors, generated = self.errors, self.errors.get("generated")
        near = None
        if "near_train" in errors:
            near = recovery_test(errors["near_train"], errors["near_held_out"], generated)
        return RecoveryComparisons(recovery_test(errors["train"], errors["held_out"], generated), near)

    @property
    def match(self) -> GeneratorMatch | None:
        """Whether the generator is the entry's; None if no entry is compared."""
        errors = self.errors
        if "entry" not in errors:
            return None
        return generator_match(errors["entry"], errors["generated"], errors["held_out"], self.features)

    @cached_property
    def power(self) -> MemorisationPower:
        """The detectable shares of memorised images for this number of targets and these held-out errors."""
        errors, tests = self.errors, self.comparisons.count
        near = None
        if self.near_share is not None:
            near = detectable_memorisation(len(errors["near_train"]), errors["near_held_out"], tests=tests)
        drawn = detectable_memorisation(len(errors["train"]), errors["held_out"], tests=tests)
        return MemorisationPower(drawn, near, self.near_share)

    def findings(self) -> list[Finding]:
        match = self.match
        return [
            *recovery_findings(self.comparisons, self.errors, self.distorted, likeness=self.likeness),
            *start_findings(self.by_start),
            *(() if self.stability is None else stability_findings(self.stability)),
            *power_findings(self.power),
            *(() if match is None else match_findings(match)),
        ]

    def report(self) -> dict[str, Any]:
        """Everything but the images, as JSON: verdict, sentence, findings, numbers, all errors, plan."""
        comparisons, match = self.comparisons, self.match
        return {
            "verdict": comparisons.verdict,
            "sentence": recovery_sentence(comparisons, self.likeness, self.power),
            "findings": [asdict(with_interval_coverage(finding)) for finding in self.findings()],
            "measured": _measured(comparisons.deciding)
            | {
                "p_value": comparisons.p_value,
                "generated_verbatim": None if (own := comparisons.random.generated) is None else own.verbatim,
                "random": _measured(comparisons.random),
                "near": None if comparisons.near is None else _measured(comparisons.near),
            },
            "power": self.power.as_json(),
            "starts": {kind: success_by_start(values) for kind, values in self.by_start.items() if len(values) > 1},
            "stability": None if self.stability is None else self.stability.as_json(),
            "match": None if match is None else _match(match),
            "targets": {kind: len(self.errors[kind]) for kind in TARGET_KINDS if kind in self.errors},
            "errors": {kind: np.sort(self.errors[kind]).tolist() for kind in TARGET_KINDS if kind in self.errors},
            "latent": None if self.latent is None else asdict(self.latent),
            "plan": self.plan.as_json(),
            "evaluations": self.evaluations,
            "provenance": dict(self.provenance),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that the report does not contain in full, for ``numpy.savez``; nothing needs pickling."""
        arrays: dict[str, NDArray[Any]] = {f"errors.{kind}": values for kind, values in self.errors.items()}
        arrays |= {f"starts.{kind}": values for kind, values in self.by_start.items()}
        if self.stability is not None:
            arrays["stability"] = self.stability.errors
        arrays |= {f"distorted.{kind}": values for kind, values in self.distorted.items()}
        arrays |= {
            f"pairs.{kind}.{name}": getattr(pairs, name)
            for kind, pairs in self.pairs.items()
            for name in ("target", "recovered", "error", "index")
        }
        like = self.likeness
        arrays["likeness"] = np.array([like.statistic, like.p_value, like.excess, like.p_smaller])
        if self.near_share is not None:
            arrays["near_share"] = np.array(self.near_share)
        if self.samples is not None:
            arrays["samples"] = self.samples
        return arrays

    def sheet(self) -> Pixels:
        """All pairs as one image (h, w, 3) uint8: for each kind a row of targets above a row of recovered images.

        From left to right: the best four, the middle four, the worst four. Kinds are in the order of ``TARGET_KINDS``,
        with white lines between the images.
        """
        rows = []
        for kind in TARGET_KINDS:
            if kind in self.pairs:
                rows += [_row(self.pairs[kind].target), _row(self.pairs[kind].recovered)]
        width = max(row.shape[1] for row in rows)
        padded = [np.pad(row, ((0, 2), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
        return np.concatenate(padded)


def audit_from(report: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Audit:
    """The audit from its :meth:`Audit.report` and :meth:`Audit.arrays`, before features were compared."""
    statistic, p_value, excess, p_smaller = (float(number) for number in arrays["likeness"])
    errors = {name.split(".")[1]: arrays[name] for name in arrays if name.startswith("errors.")}
    kinds = {name.split(".")[1] for name in arrays if name.startswith("pairs.")}
    return Audit(
        plan=plan_from(report["plan"]),
        latent=None if report["latent"] is None else Latent(**report["latent"]),
        errors=errors,
        distorted={name.split(".")[1]: arrays[name] for name in arrays if name.startswith("distorted.")},
        by_start={name.split(".")[1]: arrays[name] for name in arrays if name.startswith("starts.")},
        stability=SearchStability(arrays["stability"]) if "stability" in arrays else None,
        likeness=KolmogorovSmirnov(statistic, p_value, excess, p_smaller),
        pairs={
            kind: TargetPairs(
                **{name: arrays[f"pairs.{kind}.{name}"] for name in ("target", "recovered", "error", "index")}
            )
            for kind in TARGET_KINDS
            if kind in kinds
        },
        evaluations=int(report["evaluations"]),
        provenance=dict(report["provenance"]),
        near_share=float(arrays["near_share"]) if "near_share" in arrays else None,
        samples=arrays.get("samples"),
    )


def shown_targets(errors: Vector) -> NDArray[np.int64]:
    """Indices of the targets to show: the best, middle and worst four of errors (n,), ascending, each once."""
    order = np.argsort(errors, kind="stable")
    middle = max(0, (len(order) - SHOWN_PAIRS) // 2)
    places = {*range(SHOWN_PAIRS), *range(middle, middle + SHOWN_PAIRS), *range(len(order) - SHOWN_PAIRS, len(order))}
    return order[[place for place in sorted(places) if 0 <= place < len(order)]]


def _measured(test: RecoveryTest) -> dict[str, float | None]:
    return {
        "p_value": test.test.p_value,
        "p_smaller": test.test.p_smaller,
        "statistic": test.test.statistic,
        "gap": test.gap,
        "gap_low": test.gap_low,
        "gap_high": test.gap_high,
    }


def _match(match: GeneratorMatch) -> dict[str, Any]:
    features = match.features
    return {
        "verdict": match.verdict,
        "sentence": match_sentence(match),
        "count": match.entry.count,
        "found": match.entry.verbatim,
        "low": match.low,
        "high": match.high,
        "found_of_own": match.generated.verbatim,
        "found_of_held_out": match.held_out.verbatim,
        "p_value": match.p_value,
        "detectable": asdict(match.detectable),
        "features": None
        if features is None
        else {
            "accuracy": features.both.share,
            "expected": features.both.expected,
            "p_value": features.both.p_above,
            "count": features.count,
        },
    }


def _row(images: Pixels) -> Pixels:
    spaced = np.pad(images, ((0, 0), (0, 0), (0, 2), (0, 0)), constant_values=255)
    return np.concatenate(list(spaced), axis=1)
