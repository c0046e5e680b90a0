"""Board reads while large zips arrive and are scored, compared with the same reads alone."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import select

from benchmarks.harness.http_load import Load, measure_load_apart
from benchmarks.harness.isolation import Run, forked_seconds
from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.seeding import build_admin_url, fill
from benchmarks.load.participants import Upload, add_participants, noise_zip, reference_zips, submit_entries
from benchmarks.load.service import CHECKER, NO_RATES, SCORER, WEB, LoadedService, open_competition, running_service
from scorer.acting import Acting
from scorer.db.tables import Account, Competition, Submission
from scorer.lifecycle import PENDING, Status
from scorer.teams import teams

SLUG = "load"
BOARD = f"/api/v1/competitions/{SLUG}/leaderboard"
IMAGE_SIZE = 64
IMAGE_BYTES = 12_400
"""Approximate size of a PNG of 64 x 64 pixels of noise in a zip."""
MIN_SHARE = 1 / 3
FINAL = (Status.SCORED, Status.REJECTED, Status.FAILED)


@dataclass(frozen=True)
class Size:
    seconds: float = 60.0
    alone_seconds: float = 30.0
    readers: int = 32
    uploads: int = 50
    upload_megabytes: float = 100.0
    entries: int = 20_000
    teams: int = 2_000
    patience_seconds: float = 900.0
    """How long to wait for the scores after the last upload."""


FULL = Size()
QUICK = Size(seconds=3, alone_seconds=1, readers=2, uploads=2, upload_megabytes=0.2, entries=200, teams=20)


def measure(size: Size, *_: object) -> list[BenchmarkCase]:
    """One case: reads alone, reads during uploads, and reads alone again, in one run of the service."""
    with TemporaryDirectory(prefix="kennel-load-") as folder, running_service(KENNEL_RATES=NO_RATES) as service:
        path = _prepare(service, Path(folder), size)
        _read(service, size, min(5.0, size.alone_seconds))
        before = _read(service, size, size.alone_seconds)
        # Two early entries keep workers checking and scoring from the first second on.
        first = submit_entries(service.url, SLUG, path, people=add_participants(service, 2, "early"), seconds=0.0)
        began = datetime.now(UTC)
        during, uploads = _read_during(service, path, size)
        states = _wait_for_scores(service, [*first, *uploads], began, size=size)
        after = _read(service, size, size.alone_seconds)
    numbers: Run = {}
    for name, run in (("before", before), ("beside", during), ("after", after)):
        numbers |= {f"{name}_{key}": value for key, value in run.items()}
    numbers |= _upload_numbers(uploads, size) | states
    numbers["seconds"] = numbers["beside_seconds"]
    return [BenchmarkCase("board", dict(vars(size)), {"Kennel": [numbers]})]


def _prepare(service: LoadedService, folder: Path, size: Size) -> Path:
    """Open a competition with a full board, and write the zip to submit."""
    count = max(8, int(size.upload_megabytes * 1e6 / IMAGE_BYTES))
    open_competition(service, SLUG, reference_zips(IMAGE_SIZE), image_count=count, image_size=IMAGE_SIZE)
    with service.sessions.begin() as session:
        competition = session.scalars(select(Competition).where(Competition.slug == SLUG)).one()
        admin = session.scalars(select(Account).where(Account.role == "admin")).one()
        own = teams.find_or_create_team(Acting(session, admin, datetime.now(UTC)), competition.id)
        values: dict[str, object] = {"competition": competition.id, "account": admin.id, "first_team": own.id}
    values |= {"teams": size.teams, "entries": size.entries, "step": timedelta(days=9) / size.entries}
    values |= {"start": datetime.now(UTC) - timedelta(days=10)}
    fill(build_admin_url(service.database_admin_url, service.settings.migration_url), values)
    path = folder / "entry.zip"
    path.write_bytes(noise_zip(7, count, IMAGE_SIZE))
    return path


def _read(service: LoadedService, size: Size, seconds: float) -> Run:
    return measure_load_apart(Load(service.port, BOARD, size.readers, seconds))


def _read_during(service: LoadedService, path: Path, size: Size) -> tuple[Run, list[Upload]]:
    """Read during uploads, which are spread evenly over five sixths of the time."""
    people = add_participants(service, size.uploads)
    before = {part: _processor_seconds(service, part) for part in (WEB, CHECKER, SCORER)}
    with ThreadPoolExecutor(1) as pool:
        uploading = pool.submit(submit_entries, service.url, SLUG, path, people=people, seconds=size.seconds * 5 / 6)
        run = _read(service, size, size.seconds)
        for part, used in before.items():
            run[f"{part}_processor_seconds"] = _processor_seconds(service, part) - used
    return run, uploading.result()


def _processor_seconds(service: LoadedService, part: str) -> float:
    """Of a part's processes, the processes that they have waited for, and their limited processes."""
    return float(sum(sum(process.cpu_times()[:4]) + forked_seconds(process) for process in service.processes(part)))


def _upload_numbers(uploads: Sequence[Upload], size: Size) -> Run:
    done = [upload for upload in uploads if upload.error is None]
    numbers = {
        "uploads": float(len(uploads)),
        "upload_errors": float(len(uploads) - len(done)),
        "uploads_within": float(sum(upload.ended <= size.seconds for upload in done)),
        "last_upload_seconds": max((upload.ended for upload in uploads), default=0.0),
    }
    if done:
        waits = sorted(upload.ended - upload.began for upload in done)
        total = len(done) * size.upload_megabytes * 1e6
        numbers |= {
            "upload_median_seconds": waits[len(waits) // 2],
            "upload_max_seconds": waits[-1],
            "upload_bytes_per_second": total / max(upload.ended for upload in done),
        }
    return numbers


def _wait_for_scores(service: LoadedService, uploads: Sequence[Upload], began: datetime, *, size: Size) -> Run:
    """Wait until every entry is final, or for ``patience_seconds``, and count the outcomes."""
    end = time.monotonic() + size.patience_seconds
    ids = [upload.submission for upload in uploads if upload.submission is not None]
    while True:
        with service.sessions() as session:
            rows = session.execute(select(Submission.status, Submission.finished_at).where(Submission.id.in_(ids)))
            entries = [(status, at or began) for status, at in rows]
        if all(status not in PENDING for status, _ in entries) or time.monotonic() > end:
            break
        time.sleep(1)
    until = began + timedelta(seconds=size.seconds)
    counts = {f"entries_{status}": float(sum(found == status for found, _ in entries)) for status in FINAL}
    return counts | {
        "entries": float(len(ids)),
        "scored_within": float(sum(status == Status.SCORED and began <= at <= until for status, at in entries)),
        "entries_in_progress": float(sum(status in PENDING for status, _ in entries)),
        "last_score_seconds": max((at - began).total_seconds() for _, at in entries),
    }


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    run = case.numbers
    rows = [
        (
            name,
            f"{run[f'{key}_per_second']:,.0f}",
            f"{run[f'{key}_median_ms']:.1f}",
            f"{run[f'{key}_p99_ms']:.1f}",
            f"{run[f'{key}_errors']:.0f}",
        )
        for name, key in (("alone", "before"), ("during uploads and scoring", "beside"), ("alone again", "after"))
    ]
    header = ("", "responses/s", "median, ms", "p99, ms", "errors")
    settings = case.settings
    title = (
        f"Board reads by {settings['readers']} readers, {settings['entries']:,} entries of {settings['teams']:,} teams"
    )
    uploads = [
        ("zips submitted", f"{run['uploads']:.0f} of {settings['upload_megabytes']:g} MB"),
        (f"arrived within {settings['seconds']:g} s", f"{run['uploads_within']:.0f}"),
        ("refused or interrupted", f"{run['upload_errors']:.0f}"),
        ("time until the last upload had arrived, s", f"{run['last_upload_seconds']:.1f}"),
        (
            "duration of an upload, median and longest, s",
            f"{run['upload_median_seconds']:.1f}, {run['upload_max_seconds']:.1f}",
        ),
        ("upload rate, MB/s", f"{run['upload_bytes_per_second'] / 1e6:.0f}"),
        (f"scored within {settings['seconds']:g} s", f"{run['scored_within']:.0f}"),
        ("time until the last score, s", f"{run['last_score_seconds']:.0f}"),
        ("not scored within the waiting time", f"{run['entries_in_progress']:.0f}"),
        ("failed because of the service", f"{run['entries_failed']:.0f}"),
        *(
            (f"processor seconds of {part} during uploads", f"{run[f'beside_{part}_processor_seconds']:.1f}")
            for part in (WEB, CHECKER, SCORER)
        ),
    ]
    share = run["beside_per_second"] / run["before_per_second"]
    errors = run["beside_errors"] + run["upload_errors"] + run["entries_failed"] + run["entries_rejected"]
    return Findings(
        [
            MarkdownTable(title, header, rows),
            MarkdownTable("The uploads", ("", ""), uploads),
        ],
        [
            Target("rate of reads during uploads, as a share of the rate alone", share, MIN_SHARE, True),
            Target("failed reads, uploads and scores", errors, 0, False),
        ],
    )
