"""Labels of submissions, decided or early, and whether they mean memorisation."""

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
"""Whether a label means memorisation. ``other`` is absent: its ruling may decide."""
MEMORISING = tuple(label for label, memorises in MEMORISES.items() if memorises)
LABELS = (*MEMORISES, "other")


@dataclass(frozen=True)
class LabelInfo:
    """The label of one submission; ``memorising`` None: unknown. ``early`` marks an early label, which decides
    nothing."""

    label: str
    memorising: bool | None
    early: bool = False


class LabelColumns(NamedTuple):
    """The labels of a track's entries, one row each, in the order of its columns."""

    number: NDArray[np.int8]
    """The label as its place in :data:`LABELS`; -1 for an entry without one."""
    memorising: NDArray[np.float64]
    """1 where an entry memorises, 0 where it does not, nan where that is unknown."""


def label_columns_of(labels: Mapping[int, LabelInfo], refs: NDArray[np.int64]) -> LabelColumns:
    """Labels by ref as columns beside ``refs``, which are sorted; labels of other entries are left out."""
    number = np.full(len(refs), -1, np.int8)
    memorising = np.full(len(refs), np.nan)
    labelled = np.array(sorted(labels), np.int64)
    positions, found = positions_in(refs, labelled)
    rows = positions[found]
    infos = [labels[ref] for ref in labelled[found].tolist()]
    number[rows] = [LABELS.index(info.label) for info in infos]
    memorising[rows] = [np.nan if info.memorising is None else info.memorising for info in infos]
    return LabelColumns(number, memorising)


def label_info_of(session: Session, competition_id: int, *, early_labels: bool = False) -> dict[int, LabelInfo]:
    """The labels of a competition's submissions by ref: decided ones, and with ``early_labels`` those where none
    is decided."""
    rulings = labels.memorising_rulings(session, competition_id)
    infos = {
        ref: LabelInfo(label, MEMORISES.get(label, rulings.get(ref)))
        for ref, label in labels.decided_labels(session, competition_id).items()
    }
    if early_labels:
        for ref, label in labels.early_labels(session, competition_id).items():
            infos.setdefault(ref, LabelInfo(label, MEMORISES.get(label), early=True))
    return infos
