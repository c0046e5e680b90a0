"""Board reads while large zips arrive and are scored, against the same reads alone."""

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from sqlalchemy import make_url, select

from benchmarks.harness import http_load
from benchmarks.harness.http_load import Load
from benchmarks.harness.isolation import ROOT, Run
from benchmarks.harness.processor_time import forked_seconds
from benchmarks.harness.report import MarkdownTable, Section, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.standings_seeding import fill
from benchmarks.load.machine_rates import disk_rate, loopback_rate, stream_rate
from benchmarks.load.participants import add_participants, noise_zip, reference_zips
from benchmarks.load.service import CHECKER, SCORER, WEB, LoadedService, open_competition, running_service
from benchmarks.load.uploaders import Upload, Uploads, command, uploads_of
from scorer.db.tables import Account, Competition, Submission
from scorer.lifecycle import PENDING, Status
from scorer.teams import teams

NAME = "reads_beside_uploads"
SLUG = "load"
BOARD = f"/api/v1/competitions/{SLUG}/leaderboard"
IMAGE_SIZE = 64
IMAGE_BYTES = 12_400
"""Of a PNG of 64 x 64 pixels of noise in a zip, roughly."""
MIN_SHARE = 1 / 3
FINAL = (Status.SCORED, Status.REJECTED, Status.FAILED)


@dataclass(frozen=True)
class Size:
    """How much is read, handed in and shown on the board."""

    seconds: float = 60.0
    alone_seconds: float = 30.0
    readers: int = 32
    uploads: int = 50
    upload_megabytes: float = 100.0
    entries: int = 20_000
    teams: int = 2_000
    patience_seconds: float = 900.0
    """How long after the last upload the scores are waited for."""


FULL = Size()
QUICK = Size(seconds=3, alone_seconds=1, readers=2, uploads=2, upload_megabytes=0.2, entries=200, teams=20)


def measure(size: Size) -> list[BenchmarkCase]:
    """One case: reads alone, reads beside uploads, reads alone again, in one run of the service."""
    with TemporaryDirectory(prefix="kennel-load-") as folder, running_service() as service:
        numbers = _raw_rates(Path(folder), size)
        path = _prepare(service, Path(folder), size)
        answer_bytes = len(httpx.get(f"{service.url}{BOARD}", trust_env=False).content)
        numbers["raw_per_second"] = loopback_rate(answer_bytes, size.readers, min(5.0, size.alone_seconds))
        _read(service, size, min(5.0, size.alone_seconds))
        before = _read(service, size, size.alone_seconds)
        first = _hand_in_early(service, path)
        began = datetime.now(UTC)
        beside, uploads = _read_beside(service, path, size)
        states = _wait_for_scores(service, [*first, *uploads], began, size)
        after = _read(service, size, size.alone_seconds)
    for name, run in (("before", before), ("beside", beside), ("after", after)):
        numbers |= {f"{name}_{key}": value for key, value in run.items()}
    numbers |= _upload_numbers(uploads, size) | states
    numbers["seconds"] = numbers["beside_seconds"]
    return [BenchmarkCase("board", dict(vars(size)), {"Kennel": [numbers]})]


def _raw_rates(folder: Path, size: Size) -> Run:
    total = int(size.upload_megabytes * 1e6)
    return {
        "raw_disk_bytes_per_second": disk_rate(folder, 5 * total),
        "raw_stream_bytes_per_second": stream_rate(5 * total),
    }


def _prepare(service: LoadedService, folder: Path, size: Size) -> Path:
    """Open a competition whose board is full, and write the zip that is handed in."""
    count = max(8, int(size.upload_megabytes * 1e6 / IMAGE_BYTES))
    open_competition(service, SLUG, reference_zips(IMAGE_SIZE), image_count=count, image_size=IMAGE_SIZE)
    with service.sessions.begin() as session:
        competition = session.scalars(select(Competition).where(Competition.slug == SLUG)).one()
        admin = session.scalars(select(Account).where(Account.role == "admin")).one()
        own = teams.find_or_create_team(session, competition.id, admin, now=datetime.now(UTC))
        values = {"competition": competition.id, "account": admin.id, "first_team": own.id}
    url = make_url(service.database_admin_url).set(database=make_url(_database_url(service)).database)
    step = timedelta(days=9) / size.entries
    fill(
        url.render_as_string(hide_password=False),
        values
        | {"teams": size.teams, "entries": size.entries, "step": step}
        | {"start": datetime.now(UTC) - timedelta(days=10)},
    )
    path = folder / "entry.zip"
    path.write_bytes(noise_zip(7, count, IMAGE_SIZE))
    return path


def _database_url(service: LoadedService) -> str:
    return service.settings.database_url.get_secret_value()


def _read(service: LoadedService, size: Size, seconds: float) -> Run:
    """Read the board's first page for some seconds, from a process of its own."""
    task = Load(service.port, BOARD, size.readers, seconds)
    done = subprocess.run(http_load.command(task), cwd=ROOT, capture_output=True, text=True, check=True)
    run: Run = json.loads(done.stdout)
    run["errors"] = run["seconds"] * sum(
        rate for name, rate in run.items() if name.startswith("status_") and name != "status_200"
    )
    return run


def _uploads(service: LoadedService, path: Path, prefix: str, count: int, seconds: float) -> Uploads:
    people = add_participants(service, count, prefix)
    return Uploads(service.url, SLUG, str(path), people, "client", seconds)


def _hand_in_early(service: LoadedService, path: Path) -> list[Upload]:
    """Two entries handed in before the clock starts, so that workers check and score from its first second on."""
    task = _uploads(service, path, "early", 2, 0.0)
    done = subprocess.run(command(task), cwd=ROOT, capture_output=True, text=True, check=True)
    return uploads_of(done.stdout)


def _read_beside(service: LoadedService, path: Path, size: Size) -> tuple[Run, list[Upload]]:
    """Read while zips are handed in, evenly over five sixths of the time."""
    task = _uploads(service, path, "team", size.uploads, size.seconds * 5 / 6)
    before = {part: _processor_seconds(service, part) for part in (WEB, CHECKER, SCORER)}
    with subprocess.Popen(command(task), cwd=ROOT, stdout=subprocess.PIPE, text=True) as uploaders:
        run = _read(service, size, size.seconds)
        for part, used in before.items():
            run[f"{part}_processor_seconds"] = _processor_seconds(service, part) - used
        output = uploaders.stdout.read() if uploaders.stdout else ""
    return run, uploads_of(output)


def _processor_seconds(service: LoadedService, part: str) -> float:
    """Of a part's processes, of those that they have waited for, and of their limited processes."""
    return float(sum(sum(each.cpu_times()[:4]) + forked_seconds(each) for each in service.processes(part)))


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


def _wait_for_scores(service: LoadedService, uploads: Sequence[Upload], began: datetime, size: Size) -> Run:
    """Wait until every entry is through, or for as long as there is patience, and count what has become of them."""
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
    counts = {f"entries_{status}": float(sum(each == status for each, _ in entries)) for status in FINAL}
    return counts | {
        "entries": float(len(ids)),
        "scored_within": float(sum(status == Status.SCORED and began <= at <= until for status, at in entries)),
        "entries_in_progress": float(sum(status in PENDING for status, _ in entries)),
        "last_score_seconds": max((at - began).total_seconds() for _, at in entries),
    }


METHOD = """\
The whole service with the arguments of `kennel up`, its servers' files on disk. Readers ask for the board's first page
again as soon as they have it, each from an address of its own, from one other process on the same machine. They read
alone, then while zips of 64 x 64 pixels of noise are handed in by tus (what `kennel submit` and the page use), from a
third process, and are checked and scored with `tiny` on both tracks, and then alone again. *Raw* is what the same
reader gets from a process that answers with the same bytes and does nothing else; what one connection over loopback
carries; and one file written in pieces of 4 MB and synchronised. All of it shares the machine's cores."""


def section(result: BenchmarkResult) -> Section:
    """Both tables and the targets."""
    (case,) = result.cases
    (run,) = case.runs["Kennel"]
    rows = [
        (
            name,
            f"{run[f'{key}_per_second']:,.0f}",
            f"{run[f'{key}_per_second'] / run['raw_per_second']:.4f}",
            f"{run[f'{key}_median_ms']:.1f}",
            f"{run[f'{key}_p99_ms']:.1f}",
            f"{run[f'{key}_errors']:.0f}",
        )
        for name, key in (("alone", "before"), ("beside uploads and scoring", "beside"), ("alone, afterwards", "after"))
    ]
    header = ("", "answers/s", "of raw", "median, ms", "p99, ms", "errors")
    settings = case.settings
    title = (
        f"Board reads by {settings['readers']} readers, {settings['entries']:,} entries of {settings['teams']:,} teams"
    )
    uploads = [
        ("handed in", f"{run['uploads']:.0f} of {settings['upload_megabytes']:g} MB"),
        (f"arrived within {settings['seconds']:g} s", f"{run['uploads_within']:.0f}"),
        ("refused or broken off", f"{run['upload_errors']:.0f}"),
        ("the last one had arrived after, s", f"{run['last_upload_seconds']:.1f}"),
        ("an upload, median and longest, s", f"{run['upload_median_seconds']:.1f}, {run['upload_max_seconds']:.1f}"),
        ("rate, MB/s", f"{run['upload_bytes_per_second'] / 1e6:.0f}"),
        ("raw: one loopback connection, MB/s", f"{run['raw_stream_bytes_per_second'] / 1e6:,.0f}"),
        ("raw: one file written, MB/s", f"{run['raw_disk_bytes_per_second'] / 1e6:,.0f}"),
        (f"scored within {settings['seconds']:g} s", f"{run['scored_within']:.0f}"),
        ("the last score that was waited for, s", f"{run['last_score_seconds']:.0f}"),
        ("not scored until then", f"{run['entries_in_progress']:.0f}"),
        ("failed for our fault", f"{run['entries_failed']:.0f}"),
        *(
            (f"processor seconds of {part} while both went on", f"{run[f'beside_{part}_processor_seconds']:.1f}")
            for part in (WEB, CHECKER, SCORER)
        ),
    ]
    return Section(
        "Board reads beside uploads",
        METHOD,
        [
            MarkdownTable(f"{title}; raw: {run['raw_per_second']:,.0f}/s", header, rows),
            MarkdownTable("The uploads", ("", ""), uploads),
        ],
        [
            Target(
                "rate of reads beside uploads, of that alone",
                run["beside_per_second"] / run["before_per_second"],
                MIN_SHARE,
                True,
            ),
            Target(
                "errors of reads, uploads and scores",
                run["beside_errors"] + run["upload_errors"] + run["entries_failed"] + run["entries_rejected"],
                0,
                False,
            ),
        ],
    )
