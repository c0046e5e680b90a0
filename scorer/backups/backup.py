"""Backups: the rows of one database snapshot, then every blob of the store.

You can restore them into an empty installation of any kind: a folder or S3, any version of PostgreSQL. Blobs are
written before the rows that refer to them and never change, so after the snapshot the store has all blobs of its rows.
The copy may contain further blobs without a row; the cleanup removes them after a restore.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from scorer.backups.manifest import (
    BLOB_LIST,
    BackupFolder,
    BlobEntry,
    Manifest,
    TableRows,
    file_sha256,
    read_blob_list,
    require_unchanged,
    write_blob_list,
)
from scorer.blobs import Blobs, StoredBlob
from scorer.db import backups
from scorer.db.blob_references import all_referenced_keys
from scorer.db.session import Connection
from scorer.errors import Conflict, Invalid, NotFound

READ_BYTES = 1 << 20
Progress = Callable[[str], None]
"""Gets a description of the next step."""


def make_backup(
    connection: Connection,
    blobs: Blobs,
    folder: BackupFolder,
    *,
    revision: str,
    product: str,
    now: datetime,
    progress: Progress = lambda _: None,
) -> tuple[Path, Manifest]:
    """Make a backup and return its folder and manifest. The caller holds the folder's lock.

    ``connection`` is a transaction on one snapshot (:func:`scorer.db.backups.long_transaction`), ``revision`` the
    migration of its tables.
    """
    known = _known_blobs(folder)
    own = folder.begin(now)
    tables = []
    for table in backups.tables_in(connection):
        progress(f"table {table}")
        tables.append(_back_up_table(connection, table, own))
    progress("blobs")
    entries = list(_back_up_blobs(blobs, folder, known))
    manifest = Manifest(
        made_at=now.isoformat(),
        product=product,
        revision=revision,
        tables=tables,
        blobs=len(entries),
        blob_bytes=sum(entry.bytes for entry in entries),
        missing=sorted({*all_referenced_keys(connection)} - {"", *(entry.key for entry in entries)}),
        blob_list_sha256=write_blob_list(own, entries),
    )
    folder.end(own, manifest)
    return own, manifest


def _back_up_table(connection: Connection, table: str, own: Path) -> TableRows:
    file = f"{table}.copy.gz"
    columns = backups.list_columns(connection, table)
    with gzip.open(own / file, "wb", compresslevel=3) as out:
        rows = backups.copy_out(connection, table, columns, file=out)
    return TableRows(table, columns, rows, file, file_sha256(own / file))


def _known_blobs(folder: BackupFolder) -> dict[str, BlobEntry]:
    """Return the blobs of the newest backup, by key."""
    names = folder.names()
    return {entry.key: entry for entry in read_blob_list(folder.path / names[-1])} if names else {}


def _back_up_blobs(blobs: Blobs, folder: BackupFolder, known: dict[str, BlobEntry]) -> Iterator[BlobEntry]:
    for stored in blobs.stored():
        earlier = known.get(stored.key)
        modified = stored.modified.isoformat()
        if earlier is not None and (earlier.bytes, earlier.modified) == (stored.bytes, modified):
            yield earlier
            continue
        try:
            yield _back_up_blob(blobs, folder, stored)
        except NotFound:
            continue  # removed in the meantime: no row of the snapshot refers to it


def _back_up_blob(blobs: Blobs, folder: BackupFolder, stored: StoredBlob) -> BlobEntry:
    """Copy one blob unless the backup already has its content."""
    draft = folder.path / "blob.new"
    digest = hashlib.sha256()
    size = 0
    with blobs.open(stored.key) as source, draft.open("wb") as target:
        while data := source.read(READ_BYTES):
            digest.update(data)
            size += len(data)
            target.write(data)
    sha256 = digest.hexdigest()
    path = folder.blob_path(sha256)
    if path.exists():
        draft.unlink()
    else:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.replace(path)
    return BlobEntry(stored.key, size, sha256, stored.modified.isoformat())


def verify_backup(
    folder: BackupFolder, name: str | None = None, *, progress: Progress = lambda _: None
) -> tuple[Path, Manifest]:
    """Read all files of the backup ``name`` (default: the newest).

    ``Invalid`` (``backup-damaged``) names the first missing or damaged file.
    """
    own, manifest = folder.manifest(name)
    for table in manifest.tables:
        progress(f"table {table.table}")
        require_unchanged(own / table.file, table.sha256)
    progress("blobs")
    for entry in _listed_blobs(own, manifest):
        require_unchanged(folder.blob_path(entry.sha256), entry.sha256)
    return own, manifest


def restore_rows(connection: Connection, own: Path, manifest: Manifest, *, progress: Progress = lambda _: None) -> None:
    """Load the rows of a backup into the empty tables of its migration; ``Invalid`` if a file is damaged.

    ``connection`` is one transaction of the tables' owner: an error leaves the tables empty.
    """
    for table in manifest.tables:
        progress(f"table {table.table}")
        require_unchanged(own / table.file, table.sha256)
        with gzip.open(own / table.file, "rb") as file:
            rows = backups.copy_in(connection, table.table, table.columns, file=file)
        if rows != table.rows:
            raise Invalid("backup-damaged", f"{own / table.file} has {rows} rows, but {table.rows} were recorded.")
    backups.settle_loaded_rows(connection, [table.table for table in manifest.tables])


def restore_blobs(blobs: Blobs, folder: BackupFolder, own: Path, *, manifest: Manifest) -> None:
    """Write every blob of a backup to an empty store; ``Conflict`` (``not-empty``) if the store has other blobs.

    Blobs from an interrupted restore of the same backup are kept.
    """
    present = {stored.key: stored.bytes for stored in blobs.stored()}
    entries = list(_listed_blobs(own, manifest))
    if strangers := present.keys() - {entry.key for entry in entries}:
        raise Conflict("not-empty", f"The blob store already contains {min(strangers)}. Restore into a new store.")
    for entry in entries:
        path = folder.blob_path(entry.sha256)
        require_unchanged(path, entry.sha256)
        if present.get(entry.key) != entry.bytes:
            blobs.write_file(entry.key, path)


def _listed_blobs(own: Path, manifest: Manifest) -> Iterator[BlobEntry]:
    require_unchanged(own / BLOB_LIST, manifest.blob_list_sha256)
    return read_blob_list(own)
