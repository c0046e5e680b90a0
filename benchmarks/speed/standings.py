"""Benchmark of the standings: latency of a large board after a change, and its throughput."""

from pathlib import Path

from benchmarks.harness.isolation import Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import median_of

NAME = "standings"
KENNEL = "Kennel"
PLANS = Path(__file__).parents[1] / "query_plans"
ENTRIES, TEAMS = 1_100_000, 100_000
"""The size that the targets are set for; smaller competitions are measured without targets."""


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case: all measurements of one competition. The query plan is stored for the full size only."""
    sizes = {"entries": plan.entries, "teams": plan.teams}
    settings = sizes | {"rounds": plan.rounds, "seconds": plan.load_seconds, "readers": plan.readers}
    plans = PLANS if plan.entries == ENTRIES else folder / "query_plans"
    numbers = run(Task("benchmarks.speed.standings_runs:measure", settings | {"plans": str(plans)}))
    return [BenchmarkCase("board", settings, {KENNEL: [numbers]})]


METHOD = """\
A competition in an ephemeral PostgreSQL, served by one web process with the arguments of `kennel up`, and asked over
HTTP. Each entry is measured on both tracks; half of the teams have picked. Its rows were written at once, without jobs.
A re-tune is the row that it commits; from then on the clock runs until the first reader has the first page of 100
places, and until a member of a team has their own place as well. Shown is the slowest round. Readers ask again as soon
as they have their answer, each from an address of its own, from one other process on the same machine. *Processor* is
what the web process used for an answer. The query plan of what every request asks first is in
[query_plans/](query_plans/)."""

WAITS = (
    ("first page after a re-tune of the public track", "retuned_seconds"),
    ("the same, and one's own rank", "own_rank_seconds"),
    ("private board after a re-tune of the private track", "private_seconds"),
    ("first page after a new measurement", "measured_seconds"),
    ("first page of the board of a day ago", "past_seconds"),
    ("search for teams by name", "search_seconds"),
    ("first page after the web process started", "cold_seconds"),
    ("private board after that", "cold_private_seconds"),
)
LOADS = (
    ("first page as JSON", "json"),
    ("unchanged (304)", "unchanged"),
    ("first page for people", "page"),
    ("JSON, with a re-tune every 2 s", "moving"),
)


def section(result: BenchmarkResult) -> Section:
    """Both tables, and the targets of the full size."""
    (case,) = result.cases
    runs = case.runs[KENNEL]
    size = f"{case.settings['entries']:,} entries of {case.settings['teams']:,} teams"
    waits = MarkdownTable(f"Waiting, {size}", ("", "seconds"), [(name, seconds(runs, key)) for name, key in WAITS])
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
    header = ("", "answers/s", "median, ms", "p99, ms", "processor, ms")
    loads = MarkdownTable(f"Reading, {case.settings['readers']} readers at once", header, rows)
    return Section("The standings", METHOD, [waits, loads], _targets(case))


def _targets(case: BenchmarkCase) -> list[Target]:
    if (case.settings["entries"], case.settings["teams"]) != (ENTRIES, TEAMS):
        return []
    runs = case.runs[KENNEL]
    return [
        Target("first page and own rank after a re-tune", median_of(runs, "own_rank_seconds"), 1, False, " s"),
        Target("first pages read", median_of(runs, "json_per_second"), 300, True, "/s"),
        Target("first pages read while tau moves", median_of(runs, "moving_per_second"), 300, True, "/s"),
    ]
