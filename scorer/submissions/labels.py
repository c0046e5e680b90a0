"""Labels of submissions, decided or early, and whether a label means memorisation."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from scorer.db.submissions import labels
from scorer.ranking.columns import positions_in

MEMORISES: Mapping[str, bool] = MappingProxyType(
    {"legitimate": False, "mgan": True, "sup": True, "ae": True, "aug": True}
)
"""Whether a label means memorisation. ``other`` is absent: a ruling may decide it."""
MEMORISING = tuple(label for label, memorises in MEMORISES.items() if memorises)
LABELS = (*MEMORISES, "other")


@dataclass(frozen=True)
class LabelInfo:
    """The label of one submission. ``memorising``: None if unknown. ``early``: the label decides nothing."""

    label: str
    memorising: bool | None
    early: bool = False


class LabelColumns(NamedTuple):
    """The labels of a track's entries, one row per entry, in the order of the track's columns."""

    number: NDArray[np.int8]
    """The index of the label in :data:`LABELS`; -1 without a label."""
    memorising: NDArray[np.float64]
    """1 if the entry memorises, 0 if not, nan if unknown."""


def build_label_columns(labels: Mapping[int, LabelInfo], refs: NDArray[np.int64]) -> LabelColumns:
    """Return labels by ref as columns in the order of the sorted ``refs``; other labels are left out."""
    number = np.full(len(refs), -1, np.int8)
    memorising = np.full(len(refs), np.nan)
    labelled = np.array(sorted(labels), np.int64)
    positions, found = positions_in(refs, labelled)
    rows = positions[found]
    infos = [labels[ref] for ref in labelled[found].tolist()]
    number[rows] = [LABELS.index(info.label) for info in infos]
    memorising[rows] = [np.nan if info.memorising is None else info.memorising for info in infos]
    return LabelColumns(number, memorising)


def load_label_info(session: Session, competition_id: int, *, early_labels: bool = False) -> dict[int, LabelInfo]:
    """Return the decided labels of a competition's submissions by ref.

    With ``early_labels``, submissions without a decided label have their early label.
    """
    rulings = labels.memorising_rulings(session, competition_id)
    infos = {
        ref: LabelInfo(label, MEMORISES.get(label, rulings.get(ref)))
        for ref, label in labels.decided_labels(session, competition_id).items()
    }
    if early_labels:
        for ref, label in labels.early_labels(session, competition_id).items():
            infos.setdefault(ref, LabelInfo(label, MEMORISES.get(label), early=True))
    return infos
