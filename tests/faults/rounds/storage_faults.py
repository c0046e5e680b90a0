"""Faults of storage: full disks, zips that vanish or change, lost COMMITs."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import psycopg2

from tests.faults.rounds.proxy import LostCommit
from tests.faults.rounds.situation import Situation, Skipped
from worker.runtime.decoded_images import path_of

FILLER_BYTES = 1 << 20
STATEMENTS = (
    b"INSERT INTO submissions",
    b"INSERT INTO uploads",
    b"UPDATE uploads",
    b"INSERT INTO measurements",
    b"UPDATE jobs",
    b"INSERT INTO evidence",
)
"""What the transaction has done whose COMMIT is lost."""


def full_disk(disk: str, situation: Situation) -> None:
    """One of the disks is full, to the last byte, for the length of the outage."""
    if not situation.stack.mounted:
        raise Skipped("a full disk needs root, for a tmpfs of its own")
    situation.reach()
    filler = situation.stack.folder / disk / "filler"
    written = fill(filler)
    situation.last()
    filler.unlink()
    situation.stack.forgive_crashes()
    situation.log.append(f"the disk of {disk} full for {situation.outage:.1f} s, by {written:,} bytes")


def fill(path: Path) -> int:
    """Write a file until nothing more fits; returns its bytes."""
    size = FILLER_BYTES
    written = 0
    with path.open("wb", buffering=0) as file:
        while size:
            try:
                written += os.write(file.fileno(), bytes(size))
            except OSError:
                size //= 2
    return written


def lose_zip(change: Callable[[Path], None], what: str, situation: Situation) -> None:
    """The zip of an entry that waits for its check or its score is gone or altered, and its decoded images with it, as
    on another machine. For one of two seeds it comes back at once, else after the entry has failed."""
    situation.reach(("accepted", "checking", "queued", "scoring", "recorded"))
    query = (
        "SELECT s.id, s.blob_key FROM submissions s JOIN competitions c ON c.id = s.competition_id"
        " WHERE c.slug = %(slug)s ORDER BY s.status IN ('scored', 'rejected'), s.ref"
    )
    submission, key = situation.stack.rows(query, {"slug": situation.traffic.slug})[0]
    path = Path(urlsplit(situation.stack.settings.blob_url).path) / key
    body = path.read_bytes()
    situation.victims.add(submission)
    change(path)
    path_of(situation.stack.settings.scratch, submission).unlink(missing_ok=True)
    situation.log.append(f"the zip of {submission} {what}")
    if situation.rng.random() < 0.5:
        time.sleep(situation.rng.uniform(0, 1))
        path.write_bytes(body)
        situation.log.append("and restored")
    else:
        situation.lost_zips[submission] = (path, body)


def alter(path: Path) -> None:
    """Change one byte in the middle."""
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 0xFF
    path.write_bytes(body)


def lose_commit(when: Literal["before", "after"], situation: Situation) -> None:
    """The COMMIT of one transaction is lost, before or after PostgreSQL has it; the connection breaks."""
    lost = LostCommit(situation.rng.choice(STATEMENTS), when)
    proxy = situation.stack.database
    proxy.lost_commit = lost
    try:
        happened = lost.happened.wait(30)
        with suppress(psycopg2.Error):
            situation.reach(("recorded",))
    finally:
        proxy.lost_commit = None
    situation.log.append(f"COMMIT of {lost.statement.decode()} lost {when}: {'yes' if happened else 'no'}")


KINDS: dict[str, Callable[[Situation], None]] = {
    "full-blobs": partial(full_disk, "blobs"),
    "full-scratch": partial(full_disk, "scratch"),
    "full-database": partial(full_disk, "data"),
    "blob-missing": partial(lose_zip, Path.unlink, "missing"),
    "blob-altered": partial(lose_zip, alter, "altered"),
    "commit-not-arrived": partial(lose_commit, "before"),
    "commit-not-acknowledged": partial(lose_commit, "after"),
}
