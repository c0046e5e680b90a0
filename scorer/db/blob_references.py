"""SQL that says which blobs rows refer to, by the first folder of their keys."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from scorer.db.tables import (
    CodeAttachment,
    DataFile,
    GeneratorFile,
    Measurement,
    RatingItem,
    Recovery,
    ReferenceSet,
    Submission,
)

COLUMNS: Mapping[str, InstrumentedAttribute[Any]] = MappingProxyType(
    {
        "submissions": Submission.blob_key,
        "sprites": Submission.sprite_key,
        "measurements": Measurement.artifact_key,
        "references": ReferenceSet.blob_key,
        "data": DataFile.blob_key,
        "code": CodeAttachment.blob_key,
        "generators": GeneratorFile.blob_key,
        "recoveries": Recovery.arrays_key,
        "ratings": RatingItem.blob_key,
    }
)
"""By folder: the column that refers to its blobs."""


def referenced_keys(session: Session, folder: str, keys: Collection[str]) -> set[str]:
    """Those of ``keys``, which lie in ``folder``, that a row refers to."""
    column = COLUMNS[folder]
    return set(session.scalars(select(column).where(column.in_(keys))))
