"""What a backup consists of, and the folder that several backups share.

Each backup has a folder of its own, named by its time, with the rows of every table and the list of its blobs. The
blobs themselves lie under their SHA-256 in one folder for all backups, so a further backup adds what is new alone.
``manifest.json`` is written last: a folder without it is of a backup that did not end, and the next one removes it.
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
    """The rows of one table: the file that has them (gzip), its SHA-256 in hex, the columns in their order."""

    table: str
    columns: Sequence[str]
    rows: int
    file: str
    sha256: str


class BlobEntry(NamedTuple):
    """A blob: its key, bytes, SHA-256 in hex, and when it was last written (ISO 8601)."""

    key: str
    bytes: int
    sha256: str
    modified: str


@dataclass(frozen=True)
class Manifest:
    """A backup that is whole. ``tables`` are in an order in which none refers to a later one."""

    made_at: str
    product: str
    """The version of Kennel that made it."""
    revision: str
    """The migration that its tables are of."""
    tables: Sequence[TableRows]
    blobs: int
    blob_bytes: int
    missing: Sequence[str]
    """The keys of blobs that rows refer to and that the store did not have."""
    blob_list_sha256: str
    format: int = FORMAT


class BackupFolder:
    """The folder of all backups; whoever writes to it holds its lock (:meth:`locked`)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The time of one writer; ``Conflict`` (``backup-running``) if there is another."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Conflict("backup-running", f"Another backup is being made in {self.path}.") from None
            yield

    def names(self) -> list[str]:
        """The backups that are whole, oldest first."""
        return sorted(each.parent.name for each in self.path.glob(f"*/{MANIFEST}"))

    def begin(self, now: datetime) -> Path:
        """The folder of a new backup. Those of backups that did not end are removed."""
        for folder in self.path.iterdir():
            if folder.is_dir() and folder.name != BLOBS and not (folder / MANIFEST).exists():
                shutil.rmtree(folder)
        folder = self.path / now.astimezone(UTC).strftime(NAME)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            raise Conflict("backup-exists", f"There is a backup of this very second: {folder}.") from None
        return folder

    def end(self, folder: Path, manifest: Manifest) -> None:
        """Write the manifest, which makes the backup whole."""
        draft = folder / f"{MANIFEST}.new"
        with draft.open("w") as file:
            json.dump(asdict(manifest), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / MANIFEST)

    def manifest(self, name: str | None = None) -> tuple[Path, Manifest]:
        """A backup by its name, or the newest: its folder and manifest. ``NotFound`` if there is none, ``Invalid`` for
        one of a later layout."""
        names = self.names()
        if not names or (name is not None and name not in names):
            raise NotFound("no-backup", f"There is no backup {name or ''} in {self.path}.".replace("  ", " "))
        folder = self.path / (name or names[-1])
        fields: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        if fields["format"] != FORMAT:
            raise Invalid("other-format", f"{folder} has the layout {fields['format']}; this version reads {FORMAT}.")
        return folder, Manifest(**fields | {"tables": [TableRows(*each) for each in fields["tables"]]})

    def blob_path(self, sha256: str) -> Path:
        """Where the blobs with this SHA-256 lie."""
        return self.path / BLOBS / sha256[:2] / sha256

    def forget_all_but(self, keep: int) -> int:
        """Remove all backups but the newest ``keep``, and the blobs that none of these has; how many were removed."""
        names = self.names()
        removed = names[: max(0, len(names) - keep)]
        for name in removed:
            (self.path / name / MANIFEST).unlink()  # first: what is left is not taken for a backup
            shutil.rmtree(self.path / name)
        kept = {entry.sha256 for name in names[len(removed) :] for entry in read_blob_list(self.path / name)}
        for path in (self.path / BLOBS).glob("*/*"):
            if path.name not in kept:
                path.unlink()
        return len(removed)


def write_blob_list(folder: Path, entries: Iterable[BlobEntry]) -> str:
    """Write the list of a backup's blobs; returns the SHA-256 of the file."""
    with gzip.open(folder / BLOB_LIST, "wt") as file:
        for entry in entries:
            file.write(json.dumps(list(entry)) + "\n")
    return file_sha256(folder / BLOB_LIST)


def read_blob_list(folder: Path) -> Iterator[BlobEntry]:
    """The blobs of a backup, in the order in which they were found."""
    with gzip.open(folder / BLOB_LIST, "rt") as file:
        for line in file:
            yield BlobEntry(*json.loads(line))


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_unchanged(path: Path, sha256: str) -> None:
    """``Invalid`` (``backup-damaged``) unless a file of a backup is there and has this SHA-256 (hex)."""
    if not path.is_file():
        raise Invalid("backup-damaged", f"{path} is missing from the backup.")
    if file_sha256(path) != sha256:
        raise Invalid("backup-damaged", f"{path} is damaged: its SHA-256 is not the one that was recorded.")
