"""What is known about entries: which of them memorise, as decided by people or as guessed early."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy.orm import Session

from scorer.db.submissions import labels

MEMORISES: Mapping[str, bool] = MappingProxyType(
    {"legitimate": False, "mgan": True, "sup": True, "ae": True, "aug": True}
)
"""What a label says about memorisation. ``other`` says nothing by itself: its ruling may."""


@dataclass(frozen=True)
class LabelInfo:
    """What is known about one entry. ``coarse`` marks an early guess, which nobody has decided."""

    label: str
    memorising: bool | None
    coarse: bool = False


def label_info_of(session: Session, competition_id: int, *, coarse: bool = False) -> dict[int, LabelInfo]:
    """What is known about the entries of a competition, by ref: decided labels, and with ``coarse`` early guesses
    where nothing is decided."""
    rulings = labels.memorising_rulings(session, competition_id)
    found = {
        ref: LabelInfo(label, MEMORISES.get(label, rulings.get(ref)))
        for ref, label in labels.decided_labels(session, competition_id).items()
    }
    if coarse:
        for ref, label in labels.early_labels(session, competition_id).items():
            found.setdefault(ref, LabelInfo(label, MEMORISES.get(label), coarse=True))
    return found
