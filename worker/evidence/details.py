"""The ``details`` (example images and cells, as JSON) and the numeric columns of an evidence row."""

from collections.abc import Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from scorer.findings.finding import SIGNIFICANCE_LEVEL
from scorer.findings.signs import MAX_U_SHARE
from scorer.metrics.copying.authenticity import Authenticity, p_fewer
from scorer.metrics.copying.data_copying import CellCopying, DataCopying, copied_cells
from scorer.metrics.copying.internal_duplicates import InternalDuplicates
from scorer.metrics.copying.membership_inference import MembershipInference
from scorer.metrics.copying.near_duplicates import NearDuplicates
from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.metrics.memorization import nearest
from worker.evidence.analysis import Analysis
from worker.evidence.reference import or_none

MAX_CELL_EXAMPLES, MAX_CLOSE_EXAMPLES, MAX_GROUPS, MAX_GROUP_EXAMPLES = 6, 12, 12, 8
"""The most items stored: examples of a cell, close images, groups, and images of a group."""

_NEAR_DUPLICATES = MappingProxyType(
    {
        "near_copies": "near_copies",
        "thumbnail": "thumbnail_copies",
        "hash": "hash_copies",
        "relative": "relative_copies",
    }
)
"""The tests with the prefixes of their columns."""


def build_details(analysis: Analysis, reference_names: Sequence[str]) -> dict[str, Any]:
    """Examples with image names, as JSON: ``cells``, ``near_copies``, ``thumbnail_copies``, ``hash_copies``,
    ``relative_copies``, ``partly_copied``, ``repeats``, ``identical``, ``mirrored_twins``. A list is empty if nothing
    was found or the test could not be computed.
    """
    names = analysis.entry.names
    duplicates = analysis.exact_duplicates
    return {
        "cells": _cells(analysis, reference_names),
        **{test: _near_duplicate_examples(analysis, test, reference_names) for test in _NEAR_DUPLICATES.values()},
        "partly_copied": _partial_copying_examples(analysis, reference_names)
        if _is_computable(analysis, "closeness")
        else [],
        "repeats": _pairs(analysis) if _is_computable(analysis, "repeats") else [],
        "identical": [
            [names[place] for place in group[:MAX_GROUP_EXAMPLES]] for group in duplicates.groups[:MAX_GROUPS]
        ],
        "mirrored_twins": [[names[one], names[other]] for one, other in duplicates.mirrored_pairs[:MAX_GROUPS]],
    }


def build_evidence_columns(analysis: Analysis) -> dict[str, Any]:
    """The columns of :class:`scorer.db.tables.Evidence`, by name; None for tests that could not be computed."""
    duplicates = analysis.exact_duplicates
    numbers: dict[str, Any] = {"identical": duplicates.identical, "mirrored_twins": duplicates.mirrored}
    if _is_computable(analysis, "copying"):
        numbers |= _copying_columns(analysis.copying)
    if _is_computable(analysis, "closeness"):
        numbers |= _closeness_columns("partly_copied", analysis.closeness)
    for prefix, test in _NEAR_DUPLICATES.items():
        if _is_computable(analysis, test):
            numbers |= _near_duplicate_columns(prefix, getattr(analysis, test))
    if _is_computable(analysis, "membership"):
        numbers |= _membership_columns(analysis.membership)
    if _is_computable(analysis, "repeats"):
        numbers |= _repeats_columns(analysis.repeats)
    if _is_computable(analysis, "authenticity") and analysis.reference.held_out is not None:
        numbers |= _authenticity_columns(analysis.authenticity, analysis.reference.held_out.authenticity)
    return numbers | _support_columns(analysis)


def _is_computable(analysis: Analysis, test: str) -> bool:
    """Whether a test can be computed. Its result stays cached in the analysis."""
    return or_none(lambda: getattr(analysis, test)) is not None


def _closeness_columns(prefix: str, closeness: PartialCopying) -> dict[str, Any]:
    if not closeness.is_informative:
        return {}
    return {
        f"{prefix}_share": closeness.share,
        f"{prefix}_expected": closeness.expected,
        f"{prefix}_p": closeness.p_value,
    }


def _near_duplicate_columns(prefix: str, near: NearDuplicates) -> dict[str, Any]:
    """Relative distances have no mirror images, so there is no number of mirrored ones."""
    numbers = _closeness_columns(prefix, near.closeness)
    return numbers | ({f"{prefix}_mirrored": near.mirrored} if numbers and prefix != "relative" else {})


def _membership_columns(test: MembershipInference) -> dict[str, Any]:
    columns = {"membership_auc": test.auc, "membership_auc_p": test.ranks.p_larger}
    if not test.nearest.is_informative:
        return columns
    return columns | {"membership_share": test.nearest.share, "membership_p": test.nearest.p_value}


def _repeats_columns(repeats: InternalDuplicates) -> dict[str, Any]:
    return {
        "repeats_share": repeats.share,
        "repeats_pairs": repeats.pairs,
        "repeats_expected_pairs": repeats.expected_pairs,
        "repeats_p": repeats.p_value,
    }


def _authenticity_columns(generated: Authenticity, held_out: Authenticity) -> dict[str, Any]:
    return {
        "authenticity_share": generated.share,
        "authenticity_expected": held_out.share,
        "authenticity_p": p_fewer(generated, held_out),
    }


def _support_columns(analysis: Analysis) -> dict[str, Any]:
    if not analysis.entry.draws or not _is_computable(analysis, "support"):
        return {}
    return {"support_size": analysis.support.size, "support_p": analysis.support.p_value}


def _copying_columns(copying: DataCopying) -> dict[str, Any]:
    copied = copied_cells(copying, SIGNIFICANCE_LEVEL)
    grave = sum(cell.generated for cell in copied if cell.rank_sum is not None and cell.rank_sum.share <= MAX_U_SHARE)
    return {
        "z_u": copying.overall.z,
        "u_share": copying.overall.share,
        "z_u_p": copying.overall.p_smaller,
        "c_t": copying.c_t,
        "c_t_error": copying.c_t_error,
        "copied_cells": len(copied) if copying.used else None,
        "copied_cells_share": grave / len(copying.placed.cell) if copying.used else None,
    }


def _cells(analysis: Analysis, reference_names: Sequence[str]) -> list[dict[str, Any]]:
    if not _is_computable(analysis, "copying"):
        return []
    copying = analysis.copying
    copied = {cell.cell for cell in copied_cells(copying, SIGNIFICANCE_LEVEL)}
    return [
        _cell(cell, copying, analysis, reference_names=reference_names, copied=cell.cell in copied)
        for cell in copying.cells
    ]


def _cell(
    cell: CellCopying, copying: DataCopying, analysis: Analysis, *, reference_names: Sequence[str], copied: bool
) -> dict[str, Any]:
    """A cell with its images nearest to training images, by the distance in the test's projected space."""
    score = cell.rank_sum
    placed = copying.placed
    rows = np.flatnonzero(placed.cell == cell.cell)
    rows = rows[np.argsort(placed.distance[rows], kind="stable")][:MAX_CELL_EXAMPLES]
    return {
        "cell": cell.cell,
        "generated": cell.generated,
        "held_out": cell.held_out,
        "z": score.z if score else None,
        "share": score.share if score else None,
        "p": score.p_smaller if score else None,
        "copied": copied,
        "excess": cell.excess,
        "examples": [
            {
                "generated": analysis.entry.names[row],
                "reference": reference_names[placed.index[row]],
                "distance": float(placed.distance[row]),
            }
            for row in rows.tolist()
        ],
    }


def _near_duplicate_examples(analysis: Analysis, test: str, reference_names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "generated": analysis.entry.names[example.generated],
            "reference": reference_names[example.reference],
            "distance": example.distance,
            "mirrored": example.mirrored,
        }
        for example in (getattr(analysis, test).examples if _is_computable(analysis, test) else ())
    ]


def _partial_copying_examples(analysis: Analysis, reference_names: Sequence[str]) -> list[dict[str, Any]]:
    """The images closer to a training image than held-out images are, closest first, one per training image."""
    upright = analysis.upright
    seen = set[int]()
    examples = list[dict[str, Any]]()
    for row in np.argsort(upright.distance, kind="stable").tolist():
        index = int(upright.index[row])
        distance = float(upright.distance[row])
        if distance >= analysis.closeness.limit or len(examples) == MAX_CLOSE_EXAMPLES:
            break
        if index not in seen:
            seen.add(index)
            pair = {"generated": analysis.entry.names[row], "reference": reference_names[index]}
            examples.append(pair | {"distance": distance, "mirrored": False})
    return examples


def _pairs(analysis: Analysis) -> list[list[Any]]:
    """For each of the largest groups of internal near duplicates, its two nearest images with their distance."""
    names = analysis.entry.names
    pairs = list[list[Any]]()
    for group in analysis.repeats.examples():
        distance, one, other = min((_cosine_distance(analysis, *pair), *pair) for pair in combinations(group, 2))
        pairs.append([names[one], names[other], distance])
    return pairs


def _cosine_distance(analysis: Analysis, one: int, other: int) -> float:
    """The cosine distance of two images of the entry."""
    pair = (analysis.normalised.take(np.array([place])) for place in (one, other))
    return nearest(*pair, signed=analysis.reference.signed).mean
