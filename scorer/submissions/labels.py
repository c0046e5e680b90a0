"""Labels of submissions, decided or early, and whether they mean memorisation."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy.orm import Session

from scorer.db.submissions import labels

MEMORISES: Mapping[str, bool] = MappingProxyType(
    {"legitimate": False, "mgan": True, "sup": True, "ae": True, "aug": True}
)
"""Whether a label means memorisation. ``other`` is absent: its ruling may decide."""


@dataclass(frozen=True)
class LabelInfo:
    """The label of one submission; ``memorising`` None: unknown. ``coarse`` marks an early label, which decides
    nothing."""

    label: str
    memorising: bool | None
    coarse: bool = False


def label_info_of(session: Session, competition_id: int, *, coarse: bool = False) -> dict[int, LabelInfo]:
    """The labels of a competition's submissions by ref: decided ones, and with ``coarse`` early ones where none is
    decided."""
    rulings = labels.memorising_rulings(session, competition_id)
    infos = {
        ref: LabelInfo(label, MEMORISES.get(label, rulings.get(ref)))
        for ref, label in labels.decided_labels(session, competition_id).items()
    }
    if coarse:
        for ref, label in labels.early_labels(session, competition_id).items():
            infos.setdefault(ref, LabelInfo(label, MEMORISES.get(label), coarse=True))
    return infos
