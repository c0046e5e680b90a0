"""The parts of a backup, and the folder that several backups share.

Each backup has a folder, named by its time, with the rows of every table and the list of its blobs. The blobs are in
one folder for all backups, named by their SHA-256, so a further backup only adds new blobs. ``manifest.json`` is
written last: the next backup removes folders without it, which are incomplete.
"""

import fcntl
import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from scorer.errors import Conflict, Invalid, NotFound

FORMAT = 1
"""The version of this layout."""
MANIFEST = "manifest.json"
BLOBS = "blobs"
BLOB_LIST = "blobs.jsonl.gz"
NAME = "%Y-%m-%dT%H-%M-%SZ"


class TableRows(NamedTuple):
    """The rows of one table: their file (gzip), its SHA-256 in hex, and the columns in order."""

    table: str
    columns: Sequence[str]
    rows: int
    file: str
    sha256: str


class BlobEntry(NamedTuple):
    """A blob: its key, size in bytes, SHA-256 in hex, and time of the last write (ISO 8601)."""

    key: str
    bytes: int
    sha256: str
    modified: str


@dataclass(frozen=True)
class Manifest:
    """A complete backup. ``tables`` are in an order in which no table refers to a later one."""

    made_at: str
    product: str
    """The version of Kennel that made the backup."""
    revision: str
    """The migration of the tables."""
    tables: Sequence[TableRows]
    blobs: int
    blob_bytes: int
    missing: Sequence[str]
    """The keys of blobs that rows refer to but the store lacks."""
    blob_list_sha256: str
    format: int = FORMAT


class BackupFolder:
    """The folder of all backups. Writers must hold its lock (:meth:`locked`)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; ``Conflict`` (``backup-running``) if another writer holds it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Conflict(
                    "backup-running", f"Another backup is running in {self.path}. Wait until it has finished."
                ) from None
            yield

    def names(self) -> list[str]:
        """Return the names of complete backups, oldest first."""
        return sorted(manifest.parent.name for manifest in self.path.glob(f"*/{MANIFEST}"))

    def begin(self, now: datetime) -> Path:
        """Create the folder of a new backup, and remove incomplete backups."""
        for folder in self.path.iterdir():
            if folder.is_dir() and folder.name != BLOBS and not (folder / MANIFEST).exists():
                shutil.rmtree(folder)
        folder = self.path / now.astimezone(UTC).strftime(NAME)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            raise Conflict(
                "backup-exists", f"There is already a backup from this second: {folder}. Please try again."
            ) from None
        return folder

    def end(self, folder: Path, manifest: Manifest) -> None:
        """Write the manifest, which completes the backup."""
        draft = folder / f"{MANIFEST}.new"
        with draft.open("w") as file:
            json.dump(asdict(manifest), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / MANIFEST)

    def manifest(self, name: str | None = None) -> tuple[Path, Manifest]:
        """Return the folder and manifest of a backup (default: the newest).

        ``NotFound`` if there is none, ``Invalid`` for a backup with another layout.
        """
        names = self.names()
        if not names or (name is not None and name not in names):
            raise NotFound("no-backup", f"There is no backup {name or ''} in {self.path}.".replace("  ", " "))
        folder = self.path / (name or names[-1])
        fields: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        if fields["format"] != FORMAT:
            raise Invalid("other-format", f"{folder} has the layout {fields['format']}. Kennel supports {FORMAT}.")
        return folder, Manifest(**fields | {"tables": [TableRows(*table) for table in fields["tables"]]})

    def blob_path(self, sha256: str) -> Path:
        return self.path / BLOBS / sha256[:2] / sha256

    def forget_all_but(self, keep: int) -> int:
        """Remove all but the newest ``keep`` backups, and their blobs; return the number of removed backups."""
        names = self.names()
        removed = names[: max(0, len(names) - keep)]
        for name in removed:
            (self.path / name / MANIFEST).unlink()  # first, or an interrupted removal would look like a backup
            shutil.rmtree(self.path / name)
        needed = {entry.sha256 for name in names[len(removed) :] for entry in read_blob_list(self.path / name)}
        for path in (self.path / BLOBS).glob("*/*"):
            if path.name not in needed:
                path.unlink()
        return len(removed)


def write_blob_list(folder: Path, entries: Iterable[BlobEntry]) -> str:
    """Write the list of a backup's blobs; return the SHA-256 (hex) of the file."""
    with gzip.open(folder / BLOB_LIST, "wt") as file:
        for entry in entries:
            file.write(json.dumps(list(entry)) + "\n")
    return file_sha256(folder / BLOB_LIST)


def read_blob_list(folder: Path) -> Iterator[BlobEntry]:
    with gzip.open(folder / BLOB_LIST, "rt") as file:
        for line in file:
            yield BlobEntry(*json.loads(line))


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_unchanged(path: Path, sha256: str) -> None:
    """``Invalid`` (``backup-damaged``) unless a file of a backup exists and has this SHA-256 (hex)."""
    if not path.is_file():
        raise Invalid("backup-damaged", f"{path} is missing from the backup.")
    if file_sha256(path) != sha256:
        raise Invalid("backup-damaged", f"{path} is damaged, because its SHA-256 differs from the recorded one.")
