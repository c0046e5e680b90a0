"""Storage faults: full disks, a read-only database, missing or altered zips, lost COMMITs."""

import os
import time
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import psycopg2

from tests.faults.rounds.proxy import LostCommit
from tests.faults.rounds.situation import Situation, Skipped
from tests.faults.rounds.stack import DISKS
from worker.runtime.decoded_images import build_pixels_path

FILLER_BYTES = 1 << 20
STATEMENTS = (
    b"INSERT INTO submissions",
    b"INSERT INTO uploads",
    b"UPDATE uploads",
    b"INSERT INTO measurements",
    b"UPDATE jobs",
    b"INSERT INTO evidence",
)
"""Statements of the transactions that may lose their COMMIT."""


def full_disks(disks: Collection[str], situation: Situation) -> None:
    """Fill disks to the last byte for the length of the outage. The boards stay readable."""
    if not situation.stack.mounted:
        raise Skipped("a full disk needs root, to mount a tmpfs")
    situation.reach()
    fillers = [situation.stack.folder / disk / "filler" for disk in disks]
    try:
        written = sum(fill(filler) for filler in fillers)
        situation.last_readable()
    finally:
        for filler in fillers:
            filler.unlink()
        situation.stack.forgive_crashes()
    situation.log.append(f"the disk of {', '.join(disks)} full for {situation.outage:.1f} s, by {written:,} bytes")


def read_only_database(situation: Situation) -> None:
    """Let PostgreSQL refuse writes for the length of the outage, as after a failover. The boards stay readable."""
    situation.reach()
    try:
        _set_read_only(situation, "on")
        situation.last_readable()
    finally:
        _set_read_only(situation, "off")
    situation.log.append(f"PostgreSQL read-only for {situation.outage:.1f} s")


def _set_read_only(situation: Situation, value: str) -> None:
    with closing(situation.stack.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        cursor.execute("SELECT pg_reload_conf()")


def fill(path: Path) -> int:
    """Write a file until nothing more fits. Returns its size in bytes."""
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
    """Remove or alter the zip of an entry that waits for its check or score.

    The entry's decoded images are removed, as on another machine. Every second seed restores the zip within a second;
    the others restore it after the entry has failed.
    """
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
    build_pixels_path(situation.stack.settings.scratch, submission).unlink(missing_ok=True)
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
    """Lose the COMMIT of one transaction before or after it reaches PostgreSQL, and cut the connection."""
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
    "full-blobs": partial(full_disks, ("blobs",)),
    "full-scratch": partial(full_disks, ("scratch",)),
    "full-database": partial(full_disks, ("data",)),
    "blob-missing": partial(lose_zip, Path.unlink, "missing"),
    "blob-altered": partial(lose_zip, alter, "altered"),
    "commit-not-arrived": partial(lose_commit, "before"),
    "commit-not-acknowledged": partial(lose_commit, "after"),
    "full-everything": partial(full_disks, tuple(DISKS)),
    "read-only-postgres": read_only_database,
}
