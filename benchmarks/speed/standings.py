"""Benchmark of the standings and of the pages made of them, for competitions of three sizes."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.isolation import Run, Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import median_of
from benchmarks.harness.visitor_runs import NEW, REPEATED, REPEATS
from benchmarks.speed.standings_requests import MAX_BYTES, REQUESTS, TimedRequest
from benchmarks.speed.standings_runs import MANY, MOVING_READERS

NAME = "standings"
KENNEL = "Kennel"
TIMED = {
    "": (
        *("scorer/leaderboard", "scorer/ranking", "scorer/tuning", "scorer/review", "scorer/insights"),
        *("scorer/db/leaderboard", "scorer/db/review", "api/http/response_cache.py", "api/routes/leaderboard.py"),
        *("api/routes/review", "api/routes/tuning", "api/routes/insights"),
        *("api/pages/insights", "api/pages/review", "api/pages/tuning"),
    )
}
PLANS = Path(__file__).parents[1] / "query_plans"
FULL_SIZE = 1_100_000
"""Entries of the size that the targets are set for."""


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case for each size. The query plan is stored for the full size only."""
    cases = []
    for entries, teams in plan.boards:
        settings = {
            "entries": entries,
            "teams": teams,
            "rounds": plan.rounds,
            "seconds": plan.load_seconds,
            "readers": plan.readers,
        }
        plans = PLANS if entries == FULL_SIZE else folder / "query_plans"
        numbers = run(Task("benchmarks.speed.standings_runs:measure", settings | {"plans": str(plans)}))
        cases.append(BenchmarkCase(f"{entries}", settings, {KENNEL: [numbers]}))
    return cases


DEAREST = 8
"""Addresses that are listed."""
MAX_VISITOR_MS = 20
"""Most processor time that a request of a visitor may take, whatever parameters it bears."""
VISITORS = (
    ("the dearest repeated request of a visitor, processor", REPEATED),
    ("the dearest new one, for each that its limit counts", NEW),
)
METHOD = f"""\
A competition in an ephemeral PostgreSQL, served by one web process with the arguments of `kennel up`, and asked over
HTTP. Each entry is measured on both tracks by a job that is done; half of the teams have picked, every 499th entry is
labelled. Its rows were written at once. Readers ask again as soon as they have their answer, each from an address of
its own, from one other process on the same machine. *Processor* is what the web process used for an answer. Waiting
after a re-tune begins before the organizer's request and ends with the first reader's page of 100 places. Of the other
requests, the *first time* is apart; the seconds beside it are the slowest of the later rounds, in which previews,
re-tunes, undoings and past boards are different each time. As visitors, every address of the application that can be
read is asked, as its routes have it, again and again with random parameters of their kinds, and each such request
{REPEATS} times more: *repeated* is the median of these, of the dearest request of an address, *new* what one with other
parameters takes on average for each request that its rate limit counts, since the limit counts dear ones as several.
The query plan of what every request asks first is in
[query_plans/](query_plans/)."""

WAITS = (
    ("re-tune of the public track, and the first page after it", "retuned_seconds"),
    ("the same, and one's own rank", "own_rank_seconds"),
    ("private board after a re-tune of the private track", "private_seconds"),
    ("first page after a new measurement", "measured_seconds"),
    ("first page after the web process started", "cold_seconds"),
    ("private board after that", "cold_private_seconds"),
)
LOADS = (
    ("first page as JSON", "json"),
    ("unchanged (304)", "unchanged"),
    ("first page for people", "page"),
    (f"JSON, {MOVING_READERS} readers, with a re-tune every 2 s", "moving"),
    (f"first page as JSON, {MANY} web processes", "many"),
)


def section(result: BenchmarkResult) -> Section:
    """The tables of all sizes, and the targets of the full size."""
    cases = [
        (f"{case.settings['entries']:,} entries of {case.settings['teams']:,} teams", case) for case in result.cases
    ]
    waits = MarkdownTable(
        "Waiting",
        ("seconds", *(size for size, _ in cases)),
        [(name, *(seconds(case.runs[KENNEL], key) for _, case in cases)) for name, key in WAITS],
    )
    tables, notes = [waits], []
    for size, case in cases:
        tables.append(_requests_table(f"Requests, {size}", case.runs[KENNEL]))
        tables.append(_loads_table(f"Reading, {size}, {case.settings['readers']} readers at once", case.runs[KENNEL]))
        tables += _visitors_tables(f"Visitors, {size}: the dearest addresses", case.runs[KENNEL])
        notes.append(_many_note(size, case.runs[KENNEL]))
    return Section("The standings", METHOD, tables, _targets(result), notes, TIMED)


def _many_note(size: str, runs: Sequence[Run]) -> str:
    memory = median_of(runs, "many_bytes") / 1e6
    waits, reading = (median_of(runs, f"{stage}_web_bytes") / 1e6 for stage in ("waits", "reading"))
    return (
        f"{size}: the web process had {waits:,.0f} MB at most during the waits, {reading:,.0f} MB while it was read;"
        f" four web processes have {memory:,.0f} MB together at their largest; after re-tunes,"
        f" {median_of(runs, 'many_old_answers'):.0f} of the next answers still showed the old tau."
    )


def _requests_table(title: str, runs: Sequence[Run]) -> MarkdownTable:
    header = ("", "first time, s", "seconds", "first byte, s", "kB", "peak of web, MB")
    rows = [
        (
            request.title,
            seconds(runs, f"{request.name}_first_time_seconds"),
            seconds(runs, f"{request.name}_seconds"),
            seconds(runs, f"{request.name}_first_byte_seconds"),
            f"{median_of(runs, f'{request.name}_bytes') / 1000:,.0f}",
            f"{median_of(runs, f'{request.name}_web_bytes') / 1e6:,.0f}",
        )
        for request in REQUESTS
    ]
    return MarkdownTable(title, header, rows)


def _visitors_tables(title: str, runs: Sequence[Run]) -> list[MarkdownTable]:
    """One table; none of what was measured before there were visitors in it."""
    paths = [name.removeprefix(REPEATED) for name in runs[0] if name.startswith(REPEATED)]
    if not paths:
        return []
    costs = {path: (median_of(runs, REPEATED + path), median_of(runs, NEW + path)) for path in paths}
    dearest = sorted(paths, key=lambda path: max(costs[path]), reverse=True)[:DEAREST]
    rows = [(f"`{path}`", *(f"{cost:.1f}" for cost in costs[path])) for path in dearest]
    return [MarkdownTable(title, (f"of {len(paths)}", "repeated, processor ms", "new, processor ms"), rows)]


def _loads_table(title: str, runs: Sequence[Run]) -> MarkdownTable:
    rows = [
        (
            name,
            f"{median_of(runs, f'{key}_per_second'):,.0f}",
            f"{median_of(runs, f'{key}_median_ms'):.1f}",
            f"{median_of(runs, f'{key}_p99_ms'):.1f}",
            f"{median_of(runs, f'{key}_processor_ms'):.2f}" if f"{key}_processor_ms" in runs[0] else "",
        )
        for name, key in LOADS
    ]
    return MarkdownTable(title, ("", "answers/s", "median, ms", "p99, ms", "processor, ms"), rows)


def _targets(result: BenchmarkResult) -> list[Target]:
    case = result.case(f"{FULL_SIZE}")
    if case is None:
        return []
    runs = case.runs[KENNEL]
    return [
        Target("first page and own rank after a re-tune", median_of(runs, "own_rank_seconds"), 1, False, " s"),
        *(target for request in REQUESTS for target in _targets_of(request, runs)),
        Target("the web process at its largest", median_of(runs, "web_bytes") / 1e6, MAX_BYTES / 1e6, False, " MB"),
        *_visitors_targets(runs),
        Target("first pages read", median_of(runs, "json_per_second"), 300, True, "/s"),
        Target("first pages for people read", median_of(runs, "page_per_second"), 300, True, "/s"),
        Target("first pages read while tau moves", median_of(runs, "moving_per_second"), 300, True, "/s"),
        Target("the slowest hundredth of these", median_of(runs, "moving_p99_ms"), 100, False, " ms"),
    ]


def _visitors_targets(runs: Sequence[Run]) -> list[Target]:
    costs = [(claim, [median_of(runs, name) for name in runs[0] if name.startswith(kind)]) for claim, kind in VISITORS]
    return [Target(claim, max(values), MAX_VISITOR_MS, False, " ms") for claim, values in costs if values]


def _targets_of(request: TimedRequest, runs: Sequence[Run]) -> list[Target]:
    limits = (
        ("", f"{request.name}_seconds", request.seconds, 1.0, " s"),
        (": first byte", f"{request.name}_first_byte_seconds", request.first_byte, 1.0, " s"),
        (": size", f"{request.name}_bytes", request.size, 1000.0, " kB"),
    )
    return [
        Target(f"{request.title}{what}", median_of(runs, key) / unit, limit / unit, False, name)
        for what, key, limit, unit, name in limits
        if limit is not None
    ]
