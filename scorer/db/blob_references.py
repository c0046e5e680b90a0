"""SQL for the blobs that rows refer to, by the first folder of their keys."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Connection, any_, exists, inspect, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from scorer.db.tables import (
    CheckedGenerator,
    CodeAttachment,
    CompetitionReference,
    DataFile,
    Draw,
    GeneratorFile,
    HashedEntry,
    Job,
    Measurement,
    Preparation,
    RatingItem,
    Recovery,
    ReferenceSet,
    Release,
    RescoringCampaign,
    Submission,
    Track,
)
from scorer.lifecycle import UNFINISHED

COLUMNS: Mapping[str, InstrumentedAttribute[Any]] = MappingProxyType(
    {
        "submissions": Submission.blob_key,
        "sprites": Submission.sprite_key,
        "draws": Draw.blob_key,
        "fixed-images": CheckedGenerator.fixed_images_key,
        "measurements": Measurement.artifact_key,
        "image-hashes": HashedEntry.blob_key,
        "references": ReferenceSet.blob_key,
        "data": DataFile.blob_key,
        "code": CodeAttachment.blob_key,
        "generators": GeneratorFile.blob_key,
        "recoveries": Recovery.arrays_key,
        "ratings": RatingItem.blob_key,
    }
)
"""The column that refers to the blobs of a folder, by folder."""


def all_referenced_keys(connection: Connection) -> Iterator[str]:
    """The keys of all blobs that rows refer to in :data:`COLUMNS`. If the database has not been upgraded yet, for
    example in a backup before an upgrade, some tables may be missing."""
    tables = frozenset(inspect(connection).get_table_names())
    for column in COLUMNS.values():
        if column.class_.__tablename__ in tables:
            yield from connection.scalars(select(column).where(column.is_not(None)))


def referenced_keys(session: Session, folder: str, keys: Collection[str]) -> set[str]:
    """Those of the ``keys`` (all in one folder) that a row refers to."""
    if folder in _BY_OWNER:
        return _BY_OWNER[folder](session, keys)
    column = COLUMNS[folder]
    return set(session.scalars(select(column).where(column.in_(keys))))


def _release_keys(session: Session, keys: Collection[str]) -> set[str]:
    """The files of finished releases, and all files of releases that are being made. A failed job leaves files that
    nobody can download."""
    ids = {_owner(key) for key in keys}
    being_made = exists().where(Job.release_id == Release.id, Job.state.in_(UNFINISHED))
    query = select(Release.id, Release.files, being_made.label("being_made")).where(Release.id.in_(ids))
    releases = session.execute(query).all()
    files = {f"releases/{row.id}/{file['name']}" for row in releases for file in row.files or ()}
    unfinished = {row.id for row in releases if row.being_made}
    return {key for key in keys if key in files or _owner(key) in unfinished}


def _reference_set_keys(session: Session, keys: Collection[str]) -> set[str]:
    """Data computed from reference sets that a competition has, that a track or campaign measures against, or that a
    job works on. It excludes sets that were replaced before the first submission."""
    in_use = or_(
        exists().where(CompetitionReference.reference_set_id == ReferenceSet.id),
        exists().where(
            _has_set(Preparation),
            or_(
                exists().where(Track.preparation_id == Preparation.id),
                exists().where(RescoringCampaign.preparation_id == Preparation.id),
                exists().where(RescoringCampaign.former_preparation_id == Preparation.id),
                exists().where(Job.preparation_id == Preparation.id, Job.state.in_(UNFINISHED)),
            ),
        ),
    )
    hashes = select(ReferenceSet.sha256).where(ReferenceSet.sha256.in_({_owner(key) for key in keys}), in_use)
    used = set(session.scalars(hashes))
    return {key for key in keys if _owner(key) in used}


def _has_set(preparation: type[Preparation]) -> ColumnElement[bool]:
    return or_(ReferenceSet.id == any_(preparation.reference_set_ids), ReferenceSet.id == preparation.held_out_set_id)


def _owner(key: str) -> str:
    """The second part of a key: a release's id, or the SHA-256 of a reference set."""
    return key.split("/", 2)[1]


_BY_OWNER: Mapping[str, Callable[[Session, Collection[str]], set[str]]] = MappingProxyType(
    {"releases": _release_keys, "reference-images": _reference_set_keys}
)
FOLDERS = (*COLUMNS, *_BY_OWNER)
"""Every folder with blobs that belong to rows."""
