"""SCALE.md's section about a thousand competitions on the database alone."""

from benchmarks.harness.isolation import Run
from benchmarks.harness.report import MarkdownTable, markdown_of
from benchmarks.harness.results import BenchmarkResult
from benchmarks.scale.arrivals import DAY, DAYS, ENTRIES, HOUR, entries_by_hour
from benchmarks.scale.measured import run_of

STEPS = {
    "upload": "a zip is handed in",
    "claim": "a job is claimed",
    "record": "a check or a score is recorded",
    "board": "the board is read, after a change",
    "sweep": "the sweep",
}
THOUSAND = """\
## A thousand competitions at once

On the database alone, an ephemeral PostgreSQL that does not wait for the disk: {competitions:,} open competitions,
{people} teams in each, {entries} scored entries a team ({total:,} in all; a thousand of 2019 would be 11 million,
which were not made). {workers} threads of {processes} processes do, without web and queue server, what an entry
needs: it is accepted, its check and its two scores are claimed and recorded, seven transactions by the service's own
functions, while {waiting:,.0f} others wait. The clients share two cores with the database, and whatever else ran on
the machine, whose load was {load:.0f}: the rates are the least that it does."""


def section(result: BenchmarkResult | None) -> list[str]:
    """The section's paragraphs; none without a result."""
    if result is None:
        return []
    (case,) = result.cases
    run, settings = run_of(result), case.settings
    total = settings["competitions"] * settings["people"] * settings["entries"]
    rows = [
        ("entries a second, with their scores", f"{run['entries_a_second']:.1f}"),
        ("transactions a second", f"{run['transactions_a_second']:,.0f}"),
        *(
            (f"{STEPS.get(key, 'an entry is accepted')}, median and slowest hundredth, ms", _pair(run, key))
            for key in ("accept", "claim", "record")
        ),
        ("the list of all competitions, s", f"{run['list_seconds']:.2f}"),
        ("the sweep counts what is due, s", f"{run['due_seconds']:.3f}"),
    ]
    needed = [
        (name, f"{rate:.1f}")
        for name, rate in (
            ("needed on average by a thousand of 2019", 1000 * ENTRIES / (DAYS * DAY)),
            ("in the last hour, if all close at once", 1000 * float(entries_by_hour()[-1]) / HOUR),
        )
    ]
    return [
        THOUSAND.format(**{**settings, "total": total, "waiting": run["waiting"], "load": run["load"]}),
        "\n".join(markdown_of(MarkdownTable("", ("", ""), [*rows, *needed]))),
    ]


def _pair(run: Run, key: str) -> str:
    return f"{run[f'{key}_median_ms']:.0f}, {run[f'{key}_p99_ms']:.0f}"
