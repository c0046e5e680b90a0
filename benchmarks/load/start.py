"""The start of ``kennel up`` on a new data folder: its time, its memory, and its cost when idle."""

import io
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

from benchmarks.harness.isolation import Run
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.load.participants import noise_zip, reference_zips
from deploy.demo.accounts import new_token
from deploy.standalone.data_folder import load_settings
from kennel_client.admin import References
from kennel_client.api import ApiClient
from scorer.competitions.spec import CompetitionSpec, TrackSpec

SLUG = "start"
IMAGES, IMAGE_SIZE = 50, 64
RUNNING, SCHEMA = "Kennel is running at ", "brought up to date in "
PARTS = {
    "api.main": "web process",
    "checker@": "checking worker",
    "scorer@": "scoring worker",
    "worker.celery_beat": "beat",
    "postgres": "PostgreSQL",
    "valkey": "Valkey",
}
"""The parts, by a piece of their command lines. All other processes are the runner."""
RUNNER, ALL = "runner", "all"
IDLE, SCORED = "idle: ", "scored: "
FAILED = {"rejected", "failed", "cancelled"}
PATIENCE = 300.0


@dataclass(frozen=True)
class Size:
    """The extractor of the entry, and the idle seconds."""

    extractor: str = "efficientnet_lite0"
    idle_seconds: float = 60.0


FULL, QUICK = Size(), Size("tiny", 1.0)


def measure(size: Size, folder: Path, *_: object) -> list[BenchmarkCase]:
    """One start on a new data folder."""
    runs = [_start(size, folder / "data")]
    return [BenchmarkCase("start", {"images": IMAGES, "extractor": size.extractor}, {"kennel up": runs})]


def _start(size: Size, data: Path) -> Run:
    command = [str(Path(sys.executable).with_name("kennel")), "up", "--port", "0", "--data", str(data)]
    log = data.with_suffix(".log")
    begun = time.perf_counter()
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            url = _wait_until_it_runs(process, log)
            run = {"seconds": time.perf_counter() - begun, "schema_seconds": _after(SCHEMA, log)}
            tree = psutil.Process(process.pid)
            run["cpu_seconds"] = _processor_seconds(tree)
            time.sleep(size.idle_seconds)  # later starts are over
            before = _processor_seconds(tree)
            time.sleep(size.idle_seconds)
            run["idle_percent"] = 100 * (_processor_seconds(tree) - before) / size.idle_seconds
            run |= _memory(tree, IDLE)
            run["entry_seconds"] = _score_entry(url, data, size.extractor)
            run |= _memory(tree, SCORED)
        finally:
            process.send_signal(signal.SIGINT)
    return run


def _wait_until_it_runs(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE
    while RUNNING not in log.read_text():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"kennel up does not run:\n{log.read_text()}")
        time.sleep(0.02)
    return str(log.read_text().partition(RUNNING)[2].split()[0])


def _after(words: str, log: Path) -> float:
    return float(log.read_text().partition(words)[2].split()[0])


def _processor_seconds(runner: psutil.Process) -> float:
    """Of all live processes, and of the processes that they have waited for."""
    return sum(sum(process.cpu_times()[:4]) for process in [runner, *runner.children(recursive=True)])


def _memory(runner: psutil.Process, moment: str) -> Run:
    """The proportional set size of each part."""
    sizes = dict.fromkeys(PARTS.values(), 0.0)
    for process in [runner, *runner.children(recursive=True)]:
        command = " ".join(process.cmdline())
        part = next((name for mark, name in PARTS.items() if mark in command), RUNNER)
        sizes[part] = sizes.get(part, 0.0) + process.memory_full_info().pss
    return {f"{moment}{part}": size for part, size in sizes.items()} | {f"{moment}{ALL}": sum(sizes.values())}


def _score_entry(url: str, data: Path, extractor: str) -> float:
    """Seconds from the upload of the first entry to its public score."""
    now = datetime.now(UTC)
    track = TrackSpec(extractor=extractor)
    spec = CompetitionSpec(
        slug=SLUG,
        title=SLUG,
        image_count=IMAGES,
        image_size=IMAGE_SIZE,
        opens_at=now - timedelta(days=1),
        public=track,
        private=track,
    )
    with ApiClient(url, new_token(load_settings(data), "admin", "admin")) as admin:
        admin.post("/competitions", spec.model_dump(mode="json"))
        for role, content in reference_zips(IMAGE_SIZE).items():
            admin.attach_references(SLUG, role, io.BytesIO(content))
        References(admin).prepare(SLUG, say=lambda _: None, every=0.2)
        begun = time.perf_counter()
        entry = admin.submit(SLUG, io.BytesIO(noise_zip(1, IMAGES, IMAGE_SIZE)), file_name="entry.zip", benchmark=SLUG)
        while (status := admin.get(f"/submissions/{entry['id']}")["status"]) != "scored":
            if status in FAILED or time.perf_counter() - begun > PATIENCE:
                raise RuntimeError(f"the entry is {status}")
            time.sleep(0.1)
        return time.perf_counter() - begun


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    (runs,) = case.runs.values()

    def mebibytes(key: str) -> str:
        return f"{compute_median(runs, key) / 2**20:,.0f}"

    times = [
        ("from the command until it reports that it is running, s", seconds(runs)),
        ("of this, creation of the database tables, s", seconds(runs, "schema_seconds")),
        ("processor time until then, s", seconds(runs, "cpu_seconds")),
        ("idle, % of a core", seconds(runs, "idle_percent")),
        ("first entry, from the upload to its public score, s", seconds(runs, "entry_seconds")),
    ]
    parts = [key.removeprefix(IDLE) for key in runs[0] if key.startswith(IDLE)]
    memory = [(part, mebibytes(f"{IDLE}{part}"), mebibytes(f"{SCORED}{part}")) for part in parts]
    targets = [
        Target("time until kennel up is running", compute_median(runs), 6, False, " s"),
        Target("processor time until then", compute_median(runs, "cpu_seconds"), 12, False, " s"),
        Target("memory (proportional set size)", compute_median(runs, f"{IDLE}{ALL}") / 1e6, 600, False, " MB"),
        Target("idle", compute_median(runs, "idle_percent"), 2, False, " % of a core"),
    ]
    return Findings(
        [
            MarkdownTable("Time", ("", ""), times),
            MarkdownTable("Memory, MiB of proportional set size", ("", "idle", "after a scored entry"), memory),
        ],
        targets,
    )
