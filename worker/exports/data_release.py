"""The ``release`` job: creates a data release (tables, images, data card, manifest) in the blob store."""

import hashlib
import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from scorer.archive import ImageSpec, write_images
from scorer.archive.decoder_pool import choose_process_count
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.data_release.releases import entries_with_images
from scorer.db.session import allow_long_statements, use_one_snapshot
from scorer.db.tables import Release, Submission
from scorer.import_export import data_release
from scorer.import_export.croissant import build_croissant
from scorer.import_export.data_card import CardNumbers, build_manifest, render_data_card
from scorer.import_export.data_release import BUNDLE, CARD, CROISSANT, GENERATORS_IN, IMAGES_IN, MANIFEST, blob_key
from scorer.import_export.release_columns import TABLES
from scorer.import_export.release_tables import Pseudonyms, TableRow, table_rows
from scorer.jobs import leases
from scorer.leaderboard.rows import load_ranked_board
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.progress import ProgressCallback
from scorer.submissions.files import StoredZip
from worker.exports.parquet import ROW_GROUP_SIZE, WRITER, write_table
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import Preempted, preemptible
from worker.runtime.recording import record_result

CHUNK_BYTES = 1 << 20
STATEMENT_SHARE = 0.9
"""The longest statement, as a share of the time in which a job must make progress."""
TURN_SHARE = 0.5
"""A release with images returns to its queue after this share of a job's longest duration."""
DESCRIPTION_SUFFIX = ".json"
"""Suffix of the blob with the description of a stored zip of images. The cleanup removes it with other blobs that a
finished release does not name.
"""
ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


@dataclass
class ReleaseCounts:
    """Counts taken while the tables are written, for the data card."""

    rows: dict[str, int] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    teams: set[str] = field(default_factory=set)

    def counted_rows(self, table: str, rows: Iterator[TableRow]) -> Iterator[TableRow]:
        """The same rows, counted as they pass."""
        if table != "submissions":
            yield from rows
            return
        at = {column.name: index for index, column in enumerate(TABLES[table])}
        for row in rows:
            self.statuses[row[at["status"]]] += 1
            if row[at["status"]] == "scored" and not row[at["benchmark"]]:
                self.labels[row[at["label"]] or "not reviewed"] += 1
            if not row[at["benchmark"]]:
                self.teams.add(row[at["team"]])
            yield row


@dataclass(frozen=True)
class ReleaseContents:
    """Results of one database snapshot, in addition to the tables' files."""

    state: CompetitionState
    counts: ReleaseCounts
    tau: dict[TrackKind, float | None]
    entries: Sequence[Submission]
    """Entries whose images are to be released."""


def make_release(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Create the claimed release and record it. Raises ``LeaseLost`` if another worker has the job."""
    context.scratch.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="release-", dir=context.scratch) as name:
        folder = Path(name)
        with context.transaction() as session:
            use_one_snapshot(session)
            # a statement that takes longer would lose the lease
            allow_long_statements(session.connection(), STATEMENT_SHARE * context.settings.max_stall_seconds)
            release = session.get_one(Release, claim.job.release_id)
            contents = _write_tables(
                session, context, release, folder=folder, progress=lambda share: heartbeat("tables", share)
            )
        stored, missing = _store_images(context, release, contents, heartbeat=heartbeat)
        generators = _store_generators(context, release, contents, heartbeat=heartbeat)
        files = []
        for done, table in enumerate(TABLES):
            heartbeat("storing", done / len(TABLES))
            files.append(_store_file(context, release, folder / f"{table}.parquet", rows=contents.counts.rows[table]))
        figures = _figures(release, contents, len(stored), missing=missing, generators=len(generators))
        files.append(
            _store_file(
                context, release, _put(folder / CARD, render_data_card(contents.state.competition, figures).encode())
            )
        )
        files += stored + generators
        metadata = _to_json(build_croissant(contents.state.competition, files))
        files.append(_store_file(context, release, _put(folder / CROISSANT, metadata)))
        body = _to_json(build_manifest(contents.state.competition, figures, files))
        last = [
            _store_file(context, release, _put(folder / MANIFEST, body)),
            _store_file(context, release, _zip_files(folder)),
        ]
    record = partial(data_release.record_release, sha256=hashlib.sha256(body).hexdigest())
    record_result(heartbeat, record, [*last, *files])


def _write_tables(
    session: Session, context: WorkerContext, release: Release, *, folder: Path, progress: ProgressCallback
) -> ReleaseContents:
    """Write all tables, from one database snapshot, as Parquet files in ``folder``."""
    state = competition_state.load_state(session, release.competition.slug, context.now())
    names = Pseudonyms(release.key)
    counts = ReleaseCounts()
    for done, (table, columns) in enumerate(TABLES.items()):
        progress(done / len(TABLES))
        rows = counts.counted_rows(table, table_rows(session, state, table, names=names))
        written = partial(_report_rows, progress, done)
        counts.rows[table] = write_table(folder / f"{table}.parquet", columns, rows, progress=written)
    newest = {kind: tuning.newest_threshold(session, track.id) for kind, track in state.tracks.items()}
    tau = {kind: threshold.tau if threshold else None for kind, threshold in newest.items()}
    return ReleaseContents(state, counts, tau, _select_entries_with_images(session, state, release))


def _report_rows(progress: ProgressCallback, done: int, rows: int) -> None:
    """The table's total is unknown before its end, so its share approaches 1 with every group of rows."""
    progress((done + rows / (rows + ROW_GROUP_SIZE)) / len(TABLES))


def _select_entries_with_images(session: Session, state: CompetitionState, release: Release) -> Sequence[Submission]:
    if release.images == "none":
        return ()
    refs = None
    if release.images == "ranked":
        boards = [load_ranked_board(session, state, kind).refs for kind in state.tracks]
        refs = sorted({ref for board in boards for ref in board})
    return entries_with_images(session, state.competition.id, refs)


def _store_images(
    context: WorkerContext, release: Release, contents: ReleaseContents, *, heartbeat: Heartbeat
) -> tuple[list[dict[str, Any]], int]:
    """Store the images of each entry as a zip; returns the files, and how many entries have no stored images.

    Thousands of entries take hours, so zips stored earlier are kept. The job yields to public scores, and returns to
    its queue after a share of a job's longest duration; it then raises ``Preempted``.
    """
    names = Pseudonyms(release.key)
    report = preemptible(context, heartbeat)
    turn_ends = context.now() + TURN_SHARE * timedelta(seconds=context.settings.max_job_seconds)
    files: list[dict[str, Any]] = []
    for done, entry in enumerate(contents.entries):
        progress = partial(report, "images", done / len(contents.entries))
        progress()
        name = f"{IMAGES_IN}{names.of('submission', entry.ref)}.zip"
        description = f"{blob_key(release.id, name)}{DESCRIPTION_SUFFIX}"
        if context.blobs.exists(description):
            files.append(json.loads(context.blobs.read(description)))
        elif (stored := decoded_images.find_images(context, entry)) is not None:
            files.append(
                _store_repacked(context, release, stored, spec=contents.state.image_spec, name=name, progress=progress)
            )
            context.blobs.write(description, json.dumps(files[-1]).encode())
            if context.now() >= turn_ends:
                raise Preempted
    return sorted(files, key=lambda file: file["name"]), len(contents.entries) - len(files)


def _store_repacked(
    context: WorkerContext,
    release: Release,
    stored: StoredZip,
    *,
    spec: ImageSpec,
    name: str,
    progress: Callable[[], None],
) -> dict[str, Any]:
    with TemporaryDirectory(prefix="images-", dir=context.scratch) as folder:
        packed = repack_images(context, stored, spec, folder=Path(folder), progress=progress)
        return _store_file(context, release, packed, rows=spec.count, name=name)


def repack_images(
    context: WorkerContext, stored: StoredZip, spec: ImageSpec, *, folder: Path, progress: Callable[[], None]
) -> Path:
    """A stored zip's pixels in a new zip in ``folder``, without the names, texts and times of its files."""
    decoded, packed = folder / "images.npy", folder / "images.zip"
    processes = choose_process_count(context.settings.decoding_processes)
    decoded_images.decode(context.blobs, stored, spec, path=decoded, progress=lambda _: progress(), processes=processes)
    with packed.open("wb") as file:
        write_images(np.load(decoded, mmap_mode="r"), file)
    return packed


def _store_generators(
    context: WorkerContext, release: Release, contents: ReleaseContents, *, heartbeat: Heartbeat
) -> list[dict[str, Any]]:
    """Store the generators of the entries, as uploaded, if the competition releases them."""
    competition = contents.state.competition
    if competition.entries == "images" or not competition.draws.get("release"):
        return []
    names = Pseudonyms(release.key)
    files = []
    with TemporaryDirectory(prefix="generators-", dir=context.scratch) as folder:
        for entry in contents.entries:
            heartbeat("storing", 0.0)
            if entry.blob_key is not None and context.blobs.exists(entry.blob_key):
                path = _put(Path(folder) / "generator.onnx", context.blobs.read(entry.blob_key))
                name = f"{GENERATORS_IN}{names.of('submission', entry.ref)}.onnx"
                files.append(_store_file(context, release, path, name=name))
    return sorted(files, key=lambda file: file["name"])


def _figures(
    release: Release, contents: ReleaseContents, with_images: int, *, missing: int, generators: int
) -> CardNumbers:
    counts = contents.counts
    tracks = contents.state.tracks
    return CardNumbers(
        rows=counts.rows,
        statuses=counts.statuses,
        labels=counts.labels,
        teams=len(counts.teams),
        tau=contents.tau,
        extractors={kind: tracks[kind].extractor for kind in TRACK_KINDS},
        images=release.images,
        entries_with_images=with_images,
        entries_without=missing,
        generators=generators,
        writer=WRITER,
    )


def _to_json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False).encode()


def _put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _zip_files(folder: Path) -> Path:
    """Tables, card and manifest as one zip, the same bytes for the same contents."""
    path = folder / BUNDLE
    members = sorted(folder.iterdir())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for file in members:
            member = zipfile.ZipInfo(file.name, ZIP_TIMESTAMP)
            member.file_size = file.stat().st_size
            with file.open("rb") as source, archive.open(member, "w") as target:
                shutil.copyfileobj(source, target, CHUNK_BYTES)
    return path


def _store_file(
    context: WorkerContext, release: Release, path: Path, *, rows: int | None = None, name: str | None = None
) -> dict[str, Any]:
    """Store a file of the release; returns its name, bytes, SHA-256 and rows."""
    name = name or path.name
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    context.blobs.write_file(blob_key(release.id, name), path)
    description: dict[str, Any] = {"name": name, "bytes": path.stat().st_size, "sha256": digest.hexdigest()}
    return description if rows is None else description | {"rows": rows}
