"""Benchmark of the standings and their pages, for competitions of three sizes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness.isolation import Run, Runner, Task
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds
from benchmarks.harness.results import HERE, BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.harness.visitor_runs import NEW, REPEATED
from benchmarks.speed.standings_requests import MAX_BYTES, REQUESTS, TimedRequest
from benchmarks.speed.standings_runs import MANY, MOVING_READERS

KENNEL = "Kennel"
FULL_SIZE = 1_100_000
"""Entries of the size with targets."""


class Size(NamedTuple):
    """Entries and teams of each competition; concurrent readers, and for how many seconds they read."""

    boards: tuple[tuple[int, int], ...] = ((1_666, 924), (100_000, 20_000), (FULL_SIZE, 100_000))
    rounds: int = 3
    seconds: float = 10
    readers: int = 16


FULL, QUICK = Size(), Size(((600, 60),), 1, 1, 2)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case for each size. Only the full size stores its query plan."""
    cases = []
    for entries, teams in size.boards:
        settings: dict[str, Any] = {"entries": entries, "teams": teams, "rounds": size.rounds}
        settings |= {"seconds": size.seconds, "readers": size.readers}
        plans = HERE / "query_plans" if entries == FULL_SIZE else folder / "query_plans"
        numbers = run(Task("benchmarks.speed.standings_runs:measure", settings | {"plans": str(plans)}))
        cases.append(BenchmarkCase(f"{entries}", settings, {KENNEL: [numbers]}))
    return cases


MOST_EXPENSIVE = 8
"""Number of listed addresses."""
MAX_VISITOR_MS = 20
"""The most processor time that a visitor's request may take, with any parameters."""
VISITORS = (
    ("most expensive repeated request of a visitor, processor", REPEATED),
    ("most expensive new request, per counted request", NEW),
)
WAITS = (
    ("re-tune of the public track and the first page after it", "retuned_seconds"),
    ("the same and the reader's own rank", "own_rank_seconds"),
    ("private board after a re-tune of the private track", "private_seconds"),
    ("first page after a new measurement", "measured_seconds"),
    ("first page after a start of the web process", "cold_seconds"),
    ("private board after that page", "cold_private_seconds"),
)
LOADS = (
    ("first page as JSON", "json"),
    ("unchanged (304)", "unchanged"),
    ("first page as HTML", "page"),
    (f"JSON, {MOVING_READERS} readers, with a re-tune every 2 s", "moving"),
    (f"first page as JSON, {MANY} web processes", "many"),
)


def findings(result: BenchmarkResult) -> Findings:
    cases = {f"{case.settings['entries']:,} entries of {case.settings['teams']:,} teams": case for case in result.cases}
    waited = [(name, *(seconds(case.runs[KENNEL], key) for case in cases.values())) for name, key in WAITS]
    tables, notes = [MarkdownTable("Waiting", ("seconds", *cases), waited)], []
    for size, case in cases.items():
        runs = case.runs[KENNEL]
        tables.append(_requests_table(f"Requests, {size}", runs))
        tables.append(_loads_table(f"Reading, {size}, {case.settings['readers']} concurrent readers", runs))
        tables.append(_visitors_table(f"Visitors, {size}: the most expensive addresses", runs))
        notes.append(_many_note(size, runs))
    return Findings(tables, _targets(result), notes)


def _many_note(size: str, runs: Sequence[Run]) -> str:
    memory = compute_median(runs, "many_bytes") / 1e6
    waits, reading = (compute_median(runs, f"{stage}_web_bytes") / 1e6 for stage in ("waits", "reading"))
    return (
        f"{size}: the web process used at most {waits:,.0f} MB during the waits and {reading:,.0f} MB during reading."
        f" Four web processes used at most {memory:,.0f} MB together. After re-tunes,"
        f" {compute_median(runs, 'many_old_answers'):.0f} of the next responses still showed the old tau."
    )


def _requests_table(title: str, runs: Sequence[Run]) -> MarkdownTable:
    header = ("", "first time, s", "seconds", "first byte, s", "kB", "peak memory of web, MB")
    rows = [
        (
            request.title,
            seconds(runs, f"{request.name}_first_time_seconds"),
            seconds(runs, f"{request.name}_seconds"),
            seconds(runs, f"{request.name}_first_byte_seconds"),
            f"{compute_median(runs, f'{request.name}_bytes') / 1000:,.0f}",
            f"{compute_median(runs, f'{request.name}_web_bytes') / 1e6:,.0f}",
        )
        for request in REQUESTS
    ]
    return MarkdownTable(title, header, rows)


def _visitors_table(title: str, runs: Sequence[Run]) -> MarkdownTable:
    paths = [name.removeprefix(REPEATED) for name in runs[0] if name.startswith(REPEATED)]
    costs = {path: (compute_median(runs, REPEATED + path), compute_median(runs, NEW + path)) for path in paths}
    listed = sorted(paths, key=lambda path: max(costs[path]), reverse=True)[:MOST_EXPENSIVE]
    rows = [(f"`{path}`", *(f"{cost:.1f}" for cost in costs[path])) for path in listed]
    return MarkdownTable(title, (f"of {len(paths)}", "repeated, processor ms", "new, processor ms"), rows)


def _loads_table(title: str, runs: Sequence[Run]) -> MarkdownTable:
    rows = [
        (
            name,
            f"{compute_median(runs, f'{key}_per_second'):,.0f}",
            f"{compute_median(runs, f'{key}_median_ms'):.1f}",
            f"{compute_median(runs, f'{key}_p99_ms'):.1f}",
            f"{compute_median(runs, f'{key}_processor_ms'):.2f}" if f"{key}_processor_ms" in runs[0] else "",
        )
        for name, key in LOADS
    ]
    return MarkdownTable(title, ("", "answers/s", "median, ms", "p99, ms", "processor, ms"), rows)


def _targets(result: BenchmarkResult) -> list[Target]:
    runs = next((case.runs[KENNEL] for case in result.cases if case.name == f"{FULL_SIZE}"), None)
    if runs is None:
        return []
    return [
        Target("first page and own rank after a re-tune", compute_median(runs, "own_rank_seconds"), 1, False, " s"),
        *(target for request in REQUESTS for target in _build_targets(request, runs)),
        Target(
            "largest memory of the web process", compute_median(runs, "web_bytes") / 1e6, MAX_BYTES / 1e6, False, " MB"
        ),
        *(Target(claim, _most_expensive(runs, kind), MAX_VISITOR_MS, False, " ms") for claim, kind in VISITORS),
        Target("first pages read", compute_median(runs, "json_per_second"), 300, True, "/s"),
        Target("first pages read as HTML", compute_median(runs, "page_per_second"), 300, True, "/s"),
        Target("first pages read while tau changes", compute_median(runs, "moving_per_second"), 300, True, "/s"),
        Target("99th percentile of these", compute_median(runs, "moving_p99_ms"), 100, False, " ms"),
    ]


def _most_expensive(runs: Sequence[Run], kind: str) -> float:
    return max(compute_median(runs, name) for name in runs[0] if name.startswith(kind))


def _build_targets(request: TimedRequest, runs: Sequence[Run]) -> list[Target]:
    limits = (
        ("", f"{request.name}_seconds", request.seconds, 1.0, " s"),
        (": first byte", f"{request.name}_first_byte_seconds", request.first_byte, 1.0, " s"),
        (": size", f"{request.name}_bytes", request.size, 1000.0, " kB"),
    )
    return [
        Target(f"{request.title}{what}", compute_median(runs, key) / unit, limit / unit, False, name)
        for what, key, limit, unit, name in limits
        if limit is not None
    ]
