"""What evidence points at: the regions, the images, and the numbers that queries ask for."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from scorer.findings.finding import SIGNIFICANCE_LEVEL
from scorer.findings.signs import MAX_U_SHARE
from scorer.metrics.copying.authenticity import p_fewer
from scorer.metrics.copying.data_copying import CellCopying, DataCopying, copied_cells
from scorer.metrics.copying.near_duplicates import NearDuplicates
from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.metrics.memorization import nearest
from worker.evidence.analysis import Analysis
from worker.evidence.reference import NotComputable, few_images_not_computable

MAX_CELL_EXAMPLES, MAX_CLOSE_EXAMPLES, MAX_GROUPS, MAX_GROUP_EXAMPLES = 6, 12, 12, 8
"""How many examples are kept: of a region, of close images, of groups, and of a group."""


def details_of(case: Analysis, reference_names: Sequence[str]) -> dict[str, Any]:
    """The examples, by name of the images: ``cells``, ``near_copies``, ``thumbnail_copies``, ``partly_copied``,
    ``repeats``, ``identical``, ``mirrored_twins``; JSON. Empty where there is nothing, or no test could be made."""
    names, twins = case.entry.names, case.twins
    return {
        "cells": _cells(case, reference_names),
        "near_copies": _near_duplicate_examples(case, "near_copies", reference_names),
        "thumbnail_copies": _near_duplicate_examples(case, "thumbnail_copies", reference_names),
        "partly_copied": _partial_copying_examples(case, reference_names) if _is_computable(case, "closeness") else [],
        "repeats": _pairs(case) if _is_computable(case, "repeats") else [],
        "identical": [[names[place] for place in group[:MAX_GROUP_EXAMPLES]] for group in twins.groups[:MAX_GROUPS]],
        "mirrored_twins": [[names[one], names[other]] for one, other in twins.mirrored_pairs[:MAX_GROUPS]],
    }


def evidence_columns_of(case: Analysis) -> dict[str, Any]:
    """The columns of :class:`scorer.db.tables.Evidence`, by name; None where a test could not be made."""
    numbers: dict[str, Any] = {"identical": case.twins.identical, "mirrored_twins": case.twins.mirrored}
    if _is_computable(case, "copying"):
        numbers |= _of_copying(case.copying)
    if _is_computable(case, "closeness"):
        numbers |= _of_closeness("partly_copied", case.closeness)
    for prefix, test in (("near_copies", "near_copies"), ("thumbnail", "thumbnail_copies")):
        if _is_computable(case, test):
            near: NearDuplicates = getattr(case, test)
            numbers |= _of_closeness(prefix, near.closeness)
            numbers |= {f"{prefix}_mirrored": near.mirrored} if near.closeness.is_informative else {}
    if _is_computable(case, "repeats"):
        found = case.repeats
        numbers |= {"repeats_share": found.share, "repeats_pairs": found.pairs, "repeats_p": found.p_value}
        numbers |= {"repeats_expected_pairs": found.expected_pairs}
    if _is_computable(case, "authenticity") and case.grounds.fresh is not None:
        own = case.authenticity
        photographs = case.grounds.fresh.authentic
        numbers |= {"authenticity_share": own.share, "authenticity_expected": photographs.share}
        numbers |= {"authenticity_p": p_fewer(own, photographs)}
    return numbers


def _is_computable(case: Analysis, test: str) -> bool:
    """Whether a test could be made; what it found is kept with the case."""
    try:
        with few_images_not_computable():
            getattr(case, test)
    except NotComputable:
        return False
    return True


def _of_closeness(prefix: str, found: PartialCopying) -> dict[str, Any]:
    if not found.is_informative:
        return {}
    return {f"{prefix}_share": found.share, f"{prefix}_expected": found.expected, f"{prefix}_p": found.p_value}


def _of_copying(found: DataCopying) -> dict[str, Any]:
    copied = copied_cells(found, SIGNIFICANCE_LEVEL)
    grave = sum(each.generated for each in copied if each.rank_sum is not None and each.rank_sum.share <= MAX_U_SHARE)
    return {
        "z_u": found.overall.z,
        "u_share": found.overall.share,
        "z_u_p": found.overall.p_smaller,
        "c_t": found.c_t,
        "c_t_error": found.c_t_error,
        "copied_cells": len(copied) if found.used else None,
        "copied_cells_share": grave / len(found.placed.cell) if found.used else None,
    }


def _cells(case: Analysis, reference_names: Sequence[str]) -> list[dict[str, Any]]:
    if not _is_computable(case, "copying"):
        return []
    found = case.copying
    copied = {each.cell for each in copied_cells(found, SIGNIFICANCE_LEVEL)}
    return [_cell(each, found, case, reference_names, copied=each.cell in copied) for each in found.cells]


def _cell(
    cell: CellCopying, found: DataCopying, case: Analysis, reference_names: Sequence[str], *, copied: bool
) -> dict[str, Any]:
    """A region with the images in it that are nearest to training images, in its own space."""
    score, placed = cell.rank_sum, found.placed
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
                "generated": case.entry.names[row],
                "reference": reference_names[placed.index[row]],
                "distance": float(placed.distance[row]),
            }
            for row in rows.tolist()
        ],
    }


def _near_duplicate_examples(case: Analysis, test: str, reference_names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "generated": case.entry.names[each.generated],
            "reference": reference_names[each.reference],
            "distance": each.distance,
            "mirrored": each.mirrored,
        }
        for each in (getattr(case, test).examples if _is_computable(case, test) else ())
    ]


def _partial_copying_examples(case: Analysis, reference_names: Sequence[str]) -> list[dict[str, Any]]:
    """The images that are closer than photographs are, the closest first, each of another training image."""
    found = case.upright
    seen = set[int]()
    told = list[dict[str, Any]]()
    for row in np.argsort(found.distance, kind="stable").tolist():
        index = int(found.index[row])
        distance = float(found.distance[row])
        if distance >= case.closeness.limit or len(told) == MAX_CLOSE_EXAMPLES:
            break
        if index not in seen:
            seen.add(index)
            pair = {"generated": case.entry.names[row], "reference": reference_names[index]}
            told.append(pair | {"distance": distance, "mirrored": False})
    return told


def _pairs(case: Analysis) -> list[list[Any]]:
    """The nearest two images of each of the largest groups, as far as these are shown."""
    names, told = case.entry.names, list[list[Any]]()
    for group in case.repeats.examples():
        distance, one, other = min((_cosine_distance(case, *pair), *pair) for pair in combinations(group, 2))
        told.append([names[one], names[other], distance])
    return told


def _cosine_distance(case: Analysis, one: int, other: int) -> float:
    """The cosine distance of two images of the entry."""
    pair = (case.normalised.take(np.array([place])) for place in (one, other))
    return nearest(*pair, signed=case.grounds.signed).mean
