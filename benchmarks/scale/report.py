"""SCALE.md, from stored results alone: what a whole competition shows with so many workers, and what fills up first."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import fill

from benchmarks.harness.isolation import Run
from benchmarks.harness.report import MarkdownTable, machine_line, markdown_of
from benchmarks.harness.results import BenchmarkResult, read_result
from benchmarks.load.last_hour_section import FAIR
from benchmarks.scale import thousand, thousand_section
from benchmarks.scale.arrivals import DAY, DAYS, ENTRIES, HOUR, TEAMS, entries_by_hour
from benchmarks.scale.capacity import waits
from benchmarks.scale.figure import svg, svg_of_last_hours
from benchmarks.scale.measured import HOURS, hours_before, run_of
from benchmarks.scale.parts import PARTS, PENDING_LIMIT, Part
from benchmarks.scale.service_times import ServiceTimes, times_of
from benchmarks.scale.thousand_section import STEPS

PAGE, FIGURE = "SCALE.md", "figures/scale.svg"
WIDTH, MINUTE = 120, 60.0
Results = Mapping[str, BenchmarkResult]


def stored(folder: Path) -> Results:
    """Every stored result of ``make scale`` below ``folder``, by name."""
    names = [*(part.name for part in PARTS), thousand.NAME]
    return {name: result for name in names if (result := read_result(name, folder / "results")) is not None}


def title_of(part: Part) -> str:
    """The part's name in tables."""
    what = "GPU" if part.kind == "gpu" else "worker"
    return f"{part.workers} {what}{'s' if part.workers > 1 else ''}"


def render(folder: Path) -> None:
    """Write the page and its figure from all results that are stored."""
    results = stored(folder)
    runs = runs_of(results)
    (folder / FIGURE).write_text(figure_of(runs))
    (folder / PAGE).write_text(page(results, runs))


def runs_of(results: Results) -> Mapping[Part, Run]:
    """The numbers of the parts that were played; ``LookupError`` if none was."""
    runs = {
        Part(**results[part.name].cases[0].settings): run_of(results[part.name])
        for part in PARTS
        if part.name in results
    }
    if not runs:
        raise LookupError("no part was played: make scale")
    return runs


def figure_of(runs: Mapping[Part, Run]) -> str:
    """The figure of all parts: of all that was played, or of the last hours that each has if some have more."""
    titled = {title_of(part): run for part, run in runs.items()}
    shortest = min(part.played for part in runs)
    if shortest == max(part.played for part in runs):
        return svg(titled, shortest)
    return svg_of_last_hours(titled, min(HOURS, round(24 * shortest)))


def page(results: Results, runs: Mapping[Part, Run]) -> str:
    """The text of SCALE.md."""
    parts = [
        INTRODUCTION.format(
            teams=TEAMS,
            entries=ENTRIES,
            days=DAYS,
            pending=PENDING_LIMIT,
            missing=_missing(runs),
            rush=entries_by_hour()[-HOURS:].sum() / ENTRIES,
            times=_times(runs),
            opening=_opening(runs),
            partly=_partly(runs),
        ),
        "\n".join(markdown_of(_whole(runs))),
        f"![Entries an hour and longest waits over the hours before the close]({FIGURE})",
        fill(FAIR.replace("Fair is", "*Overtaken unfairly*, on the last day: fair is"), WIDTH, break_on_hyphens=False),
        f"## The last {HOURS} hours before the close",
        HOURS_TEXT,
        "\n".join(markdown_of(_by_hour(runs))),
        *_before_the_last_hours(runs),
        "## What fills up first",
        SATURATION,
        "\n".join(markdown_of(_saturation(runs))),
        STEPS_TEXT,
        "\n".join(markdown_of(_steps(runs))),
        "## The fluid model",
        FLUID,
        "\n".join(markdown_of(_fluid(runs))),
        *thousand_section.section(results.get(thousand.NAME)),
        "## When and where",
        *(f"- {_measured(results[part.name], title_of(part), run)}" for part, run in runs.items()),
    ]
    if thousand.NAME in results:
        parts.append(f"- A thousand competitions. {machine_line(results[thousand.NAME].machine)}")
    return "\n\n".join(parts).replace("\n\n- ", "\n- ") + "\n"


INTRODUCTION = """\
# How Kennel scales

Made by `make scale`; the numbers behind it are in `results/*/scale_*.json`, in a folder of each processor that played,
one for each part, so that a run goes on with the parts that are missing{missing}. What so many competitions need is
computed from it: `docs/how-to/plan-capacity.md`.

{teams} teams hand in {entries:,} entries within {days:.0f} days, in the shape of the Generative Dog Images
competition of 2019. **Known** of it are these numbers and the ids of 1,666 released entries; Kaggle numbers all
submissions of all competitions in one row, and if that row grew evenly the ids tell the rush: {rush:.0%} of the
entries on the last day. **Assumed** are that evenness, that the other entries came like the released ones, the two
months, and how unevenly teams share the entries (`benchmarks/scale/arrivals.py`). A team may hand in five entries a
day and have {pending} in progress; who is refused for that hands in again a minute after an entry of theirs is
scored.

**Real are** the web process and its answers over loopback, PostgreSQL, Valkey with its messages, and every
transaction by which entries are accepted and jobs are claimed, passed, scored and swept; entries are zips of eight
small images. **Not real are** the workers' computing and the clock: a worker that has claimed a job is done with it
after its service time, and the clock of web and workers is set from one event to the next. So no time is compressed:
waits are those of the two months, and the time in which nothing happens is left out. What the real steps take on the
real clock is told apart and adds nothing to the waits. {opening}**Left out
are** Celery's own processes, evidence, event streams, failures, and reads except one look at the board after each
score (`make load` has streams and reads); servers do not wait for the disk.

{times}{partly}"""
PARTLY = """

**Not all of the two months was played**: {played}. Time was bounded. {before}
`make scale SCALE="{names}"` plays all."""
NOTHING_BEFORE = """\
By rates (the fluid model below) nothing waits when these plays begin: their entries wait as they would in a whole
one."""
WORK_BEFORE = """\
What waited from before is left out; the table has what that would be by rates (the fluid model below). Where it is
nothing, the waits are those of the whole."""
HOURS_TEXT = """\
Entries of that hour by the part that was played longest; then the median and the longest wait for the public score in
minutes."""
BINS_TEXT = """\
The intervals of the figure that begin before that, shorter and shorter towards the close: entries, then the median and
the longest wait for the public score in minutes."""
OPENING_TEXT = """\
The service opens each upload in a limited process of its own; here it does so with one upload in {every} and opens the
others in the web process, and the processor seconds of these processes are counted {every} times. """
SATURATION = """\
Seconds that an entry keeps each part of the service busy, and the entries a day at which one of it is full, by the play
with most entries. Those of servers are processor seconds, all of a part's processes together: *web* is an upload of
small images and a look at the board, without the bytes of a real zip; *database* all transactions of an entry without
its evidence."""
STEPS_TEXT = """\
The steps of the service by the real clock, one at a time. On a machine with other work (its load is told at the end of
the page) that is mostly waiting for a core; processor seconds above are not."""
FLUID = """\
The page on capacity computes with rates alone, hour by hour (`benchmarks/scale/capacity.py`). Beside the simulation, in
minutes; it does not know that teams with two entries in progress have to wait, nor the rush within an hour."""


def _missing(runs: Mapping[Part, Run]) -> str:
    """What is to be said of parts that nobody has played."""
    played = {part.name for part in runs}
    missing = [part for part in PARTS if part.name not in played]
    if not missing:
        return ""
    names = " ".join(part.name for part in missing)
    verb = "is** the one" if len(missing) == 1 else "are** those"
    return f': **not played yet {verb} with {_titles(missing)} (`make scale SCALE="{names}"`)'


def _partly(runs: Mapping[Part, Run]) -> str:
    """What is to be said of parts that were not played whole."""
    partly = [part for part in runs if part.played < part.days]
    if not partly:
        return ""
    played = [
        f"with {_titles([part for part in partly if part.played == days])} the last {_days(days)}"
        for days in sorted({part.played for part in partly}, reverse=True)
    ]
    complete = all(waiting_before(part, times_of(runs[part])) < MINUTE for part in partly)
    told = PARTLY.format(
        played="; ".join(played),
        before=NOTHING_BEFORE if complete else WORK_BEFORE,
        names=" ".join(part.name for part in partly),
    )
    return f"\n\n{fill(told.strip(), WIDTH, break_on_hyphens=False)}"


def _days(days: float) -> str:
    return "day" if days == 1 else f"{days:g} days"


def _opening(runs: Mapping[Part, Run]) -> str:
    """What is to be said of uploads that the web process has opened itself."""
    every = max(part.limited_every for part in runs)
    return OPENING_TEXT.format(every=every) if every > 1 else ""


def waiting_before(part: Part, times: ServiceTimes) -> float:
    """Seconds that all workers of a part would need, by rates, for what waits when its play begins."""
    before = entries_by_hour(part.entries, part.days)[: -round(24 * part.played)]
    busy = times.busy_seconds
    return waits(before, part.workers, busy["public"], busy["private"]).private - busy["private"]


def _titles(parts: Sequence[Part]) -> str:
    *first, last = [title_of(part) for part in parts]
    return f"{', '.join(first)} and {last}" if first else last


def _times(runs: Mapping[Part, Run]) -> str:
    """The sentences on the service times that the parts were played with."""
    sentences = {
        "cpu": "A *worker* here is one on two cores: {public} s for a public score, {private} s for a private one, as"
        " they had been **measured** for `efficientnet_lite0` and `efficientnet_lite2` when these were played"
        " ([RESULTS.md](RESULTS.md) has today's); {check} s for a check (host_stages), by one process for eight"
        " workers.",
        "gpu": "A *GPU* is one of [GPU.md](GPU.md) with `inception_v3` and `nasnetalarge`: {public} and {private} s of"
        " the GPU, **measured by its check**, and {host} s of its host for both, measured; two processes take turns on"
        " it, and two more check.",
    }
    told = []
    for kind in dict.fromkeys(part.kind for part in runs):
        times = [times_of(run) for part, run in runs.items() if part.kind == kind]
        form = ".0f" if kind == "cpu" else ".1f"
        sentence = sentences[kind].format(
            public=_span([each.busy_seconds["public"] for each in times], form),
            private=_span([each.busy_seconds["private"] for each in times], form),
            check=_span([each.check.host for each in times], ".1f"),
            host=_span([each.public.host + each.private.host for each in times], ".1f"),
        )
        told.append(fill(sentence, WIDTH, break_on_hyphens=False))
    return "\n\n".join(told)


def _span(values: Sequence[float], form: str) -> str:
    """The number that all are, as they are told; or the least and the largest."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _table(runs: Mapping[Part, Run], rows: Sequence[tuple[str, ...]]) -> MarkdownTable:
    return MarkdownTable("", ("", *map(title_of, runs)), rows)


def _whole(runs: Mapping[Part, Run]) -> MarkdownTable:
    def row(name: str, key: str, form: str = ",.0f", by: float = 1.0) -> tuple[str, ...]:
        return name, *(format(run[key] / by, form) for run in runs.values())

    before = [f"{waiting_before(part, times_of(run)) / HOUR:,.1f}" for part, run in runs.items()]
    work = [
        format((run["public_last_day"] + run["private_last_day"]) / part.workers, ",.0f") for part, run in runs.items()
    ]
    return _table(
        runs,
        [
            ("days played, the last ones", *(f"{part.played:g}" for part in runs)),
            ("work left from before, by rates, h", *before),
            row("accepted", "accepted"),
            row("not handed in by the close", "given_up"),
            row("refused: two in progress", "refused_pending"),
            row("refused: closed", "refused_closed"),
            row("refused for another reason", "refused_otherwise"),
            row("messages sent again", "lost_messages"),
            row("wait for the public score, median, min", "wait_median", ",.1f", 60),
            row("95 of 100 waited at most, min", "wait_p95", ",.1f", 60),
            row("longest, min", "wait_longest", ",.1f", 60),
            row("last public score after the close, h", "public_after_close", ",.1f", HOUR),
            row("last private score after the close, h", "private_after_close", ",.1f", HOUR),
            row("private scores missing at the close", "private_waiting_at_close"),
            row("workers busy, of what was played", "busy_share", ".1%"),
            ("scores by a worker on the last day", *work),
            row("first entries overtaken unfairly", "fairness_first_unfair"),
            row("further entries overtaken unfairly", "fairness_later_unfair"),
            row("played in, min of the real clock", "seconds", ",.0f", 60),
        ],
    )


def _by_hour(runs: Mapping[Part, Run]) -> MarkdownTable:
    longest = max(runs, key=lambda part: part.played)
    rows = []
    for hour in range(HOURS - _hours_played(longest), HOURS):
        key = f"hour{hour:02}"
        cells = (
            _waits(run, key) if HOURS - hour <= _hours_played(part) else "not played" for part, run in runs.items()
        )
        rows.append((f"{HOURS - hour} h before the close", f"{runs[longest][f'{key}_entries']:.0f}", *cells))
    return MarkdownTable("", ("", "entries", *map(title_of, runs)), rows)


def _waits(run: Run, key: str) -> str:
    """The median and the longest wait of an interval, in minutes."""
    return f"{run[f'{key}_median'] / 60:,.1f}, {run[f'{key}_longest'] / 60:,.1f}"


def _before_the_last_hours(runs: Mapping[Part, Run]) -> list[str]:
    """The paragraphs on what came before the last hours; none unless all parts have played as much of it."""
    (days, *others) = {part.played for part in runs}
    if others or round(24 * days) <= HOURS:
        return []
    rows = [
        (
            f"{before / 24:.1f} to {after / 24:.1f} days before the close",
            f"{next(iter(runs.values()))[f'bin{place:02}_entries']:,.0f}",
            *(_waits(run, f"bin{place:02}") for run in runs.values()),
        )
        for place, (before, after) in enumerate(pairwise(hours_before(days * DAY)))
        if before > HOURS
    ]
    table = MarkdownTable("", ("", "entries", *map(title_of, runs)), rows)
    return ["## The days before", BINS_TEXT, "\n".join(markdown_of(table))]


def _hours_played(part: Part) -> int:
    """Of the last day."""
    return min(HOURS, round(24 * part.played))


def _saturation(runs: Mapping[Part, Run]) -> MarkdownTable:
    rows: list[tuple[str, float]] = []
    for kind in dict.fromkeys(part.kind for part in runs):
        times = times_of(_with_most_entries([run for part, run in runs.items() if part.kind == kind]))
        rows.append((f"one {'GPU' if kind == 'gpu' else 'worker on two cores'}", sum(times.busy_seconds.values())))
        rows.append((f"one process that checks ({kind})", times.check.host))
    run = _with_most_entries(list(runs.values()))
    rows += [(f"one core of the {name}", run[f"processor_{key}"]) for name, key in SERVED]
    ordered = sorted(rows, key=lambda each: -each[1])
    return MarkdownTable(
        "",
        ("", "s an entry", "entries a day until it is full"),
        [(name, f"{seconds:.3f}", f"{DAY / seconds:,.0f}") for name, seconds in ordered],
    )


def _with_most_entries(runs: Sequence[Run]) -> Run:
    return max(runs, key=lambda run: run["accepted"])


SERVED = (("web", "web"), ("database", "database"), ("queue server", "queue"))


def _steps(runs: Mapping[Part, Run]) -> MarkdownTable:
    rows = [
        (name, *(f"{run[f'{key}_median_ms']:.0f}, {run[f'{key}_p99_ms']:.0f}" for run in runs.values()))
        for key, name in STEPS.items()
    ]
    return MarkdownTable("", ("median and slowest hundredth, ms", *map(title_of, runs)), rows)


def _fluid(runs: Mapping[Part, Run]) -> MarkdownTable:
    modelled, seen = ["longest wait, by rates"], ["longest wait, simulated"]
    after, seen_after = ["last private score after the close, by rates"], ["the same, simulated"]
    for part, run in runs.items():
        busy = times_of(run).busy_seconds
        hours = entries_by_hour(part.entries, part.days)[-round(24 * part.played) :]
        result = waits(hours, part.workers, busy["public"], busy["private"])
        modelled.append(f"{result.public / 60:,.1f}")
        seen.append(f"{run['wait_longest'] / 60:,.1f}")
        after.append(f"{result.private / 60:,.1f}")
        seen_after.append(f"{run['private_after_close'] / 60:,.1f}")
    return _table(runs, [tuple(row) for row in (modelled, seen, after, seen_after)])


def _measured(result: BenchmarkResult, title: str, run: Run) -> str:
    return f"{title.capitalize()}; load of the machine at its end {run['load']:.1f}. {machine_line(result.machine)}"
