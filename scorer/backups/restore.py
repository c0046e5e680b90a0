"""Restoring a backup into an empty installation, of any kind: a folder or S3, any version of PostgreSQL."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from scorer.backups.backup import Progress
from scorer.backups.manifest import (
    BLOB_LIST,
    BackupFolder,
    BlobEntry,
    Manifest,
    read_blob_list,
    require_unchanged,
)
from scorer.blobs import Blobs
from scorer.db import backups
from scorer.db.session import Connection
from scorer.errors import Conflict, Invalid


def verify_backup(
    folder: BackupFolder, name: str | None = None, *, progress: Progress = lambda _: None
) -> tuple[Path, Manifest]:
    """Read a backup (the newest, unless ``name`` says another) through; ``Invalid`` (``backup-damaged``) names the
    first file that is missing or damaged."""
    own, manifest = folder.manifest(name)
    for table in manifest.tables:
        progress(f"table {table.table}")
        require_unchanged(own / table.file, table.sha256)
    progress("blobs")
    for entry in _listed_blobs(own, manifest):
        require_unchanged(folder.blob_path(entry.sha256), entry.sha256)
    return own, manifest


def restore_rows(connection: Connection, own: Path, manifest: Manifest, *, progress: Progress = lambda _: None) -> None:
    """Load the rows of a backup into the empty tables of its own migration; ``Invalid`` if a file is damaged. In one
    transaction of the tables' owner, so that an error leaves them empty."""
    for table in manifest.tables:
        progress(f"table {table.table}")
        require_unchanged(own / table.file, table.sha256)
        with gzip.open(own / table.file, "rb") as file:
            rows = backups.copy_in(connection, table.table, table.columns, file)
        if rows != table.rows:
            raise Invalid("backup-damaged", f"{own / table.file} has {rows} rows, and {table.rows} were recorded.")
    backups.settle_loaded_rows(connection, [table.table for table in manifest.tables])


def restore_blobs(blobs: Blobs, folder: BackupFolder, own: Path, manifest: Manifest) -> None:
    """Write every blob of a backup to an empty store; ``Conflict`` (``not-empty``) if it has blobs that are not of the
    backup. What an interrupted restore has written already is kept."""
    present = {stored.key: stored.bytes for stored in blobs.stored()}
    entries = list(_listed_blobs(own, manifest))
    if strangers := present.keys() - {entry.key for entry in entries}:
        raise Conflict("not-empty", f"The blob store is in use: it has {min(strangers)}. Restore into a new one.")
    for entry in entries:
        path = folder.blob_path(entry.sha256)
        require_unchanged(path, entry.sha256)
        if present.get(entry.key) != entry.bytes:
            blobs.write_file(entry.key, path)


def _listed_blobs(own: Path, manifest: Manifest) -> Iterator[BlobEntry]:
    require_unchanged(own / BLOB_LIST, manifest.blob_list_sha256)
    return read_blob_list(own)
