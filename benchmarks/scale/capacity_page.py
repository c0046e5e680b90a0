"""docs/how-to/plan-capacity.md: what 10, 100 and 1,000 competitions need, from what was played and assumed."""

from pathlib import Path

from benchmarks.gpu.roofline import measured
from benchmarks.harness.isolation import ROOT
from benchmarks.harness.report import MarkdownTable, machine_line, markdown_of, source_of
from benchmarks.harness.results import BenchmarkResult
from benchmarks.harness.rounds import median_of
from benchmarks.scale.arrivals import DAYS, ENTRIES, TEAMS
from benchmarks.scale.capacity import Calendar, EntryCosts, Need, Prices, need_of, read_prices
from benchmarks.scale.measured import run_of
from benchmarks.scale.parts import PARTS
from benchmarks.scale.report import Results, stored
from benchmarks.scale.service_times import service_times
from benchmarks.speed import evidence

PAGE = ROOT / "docs" / "how-to" / "plan-capacity.md"
COMPETITIONS = (10, 100, 1000)
CALENDARS: tuple[Calendar, ...] = ("two months", "one day")


def entry_costs(played: BenchmarkResult) -> EntryCosts:
    """What an entry costs, by what was played, GPU.md's sources and the measurement of evidence."""
    run, times = run_of(played), service_times("gpu")
    (case,) = measured(evidence.NAME).cases
    return EntryCosts(
        public=times.busy_seconds["public"],
        private=times.busy_seconds["private"],
        host=sum(each.processors for each in (times.check, times.public, times.private)),
        evidence=2 * median_of(case.runs[evidence.ALL], "cpu_seconds"),
        web=run["processor_web"],
        database=run["processor_database"],
        database_bytes=run["database_bytes_an_entry"],
    )


def render(folder: Path) -> None:
    """Write the page from the results that are stored below ``folder`` and the operator's prices."""
    PAGE.write_text(page(stored(folder), read_prices()))


def page(results: Results, prices: Prices) -> str:
    """The text of the page, from the part that has played most entries."""
    played = max(
        (results[part.name] for part in PARTS if part.name in results), key=lambda each: run_of(each)["accepted"]
    )
    costs = entry_costs(played)
    needs = {
        calendar: [need_of(competitions, calendar, costs, prices) for competitions in COMPETITIONS]
        for calendar in CALENDARS
    }
    wanted = prices.wanted
    return TEXT.format(
        teams=TEAMS,
        entries=ENTRIES,
        days=DAYS,
        wait=wanted.longest_wait_minutes,
        final=wanted.final_hours,
        busy=wanted.busy_share,
        gpu_busy=wanted.gpu_busy_share,
        costs="\n".join(markdown_of(_costs(costs))),
        prices="\n".join(markdown_of(_prices(prices))),
        tables="\n\n".join(f"### {HEADS[calendar]}\n\n{_needs(each, prices)}" for calendar, each in needs.items()),
        evidence=source_of(measured(evidence.NAME)),
        measured=machine_line(played.machine),
    )


HEADS = {"two months": "They close one after the other, evenly", "one day": "All close on the same day"}
TEXT = """\
# Plan capacity

<!-- Made by `make scale` and `make bench`, from benchmarks/results and benchmarks/scale/prices.toml. Change those. -->

What so many competitions need, each of the shape of 2019: {teams} teams, {entries:,} entries of 10,000 images,
{days:.0f} days, an eighth of the entries on the last one. Computed by rates from what one competition was seen to
need in a simulation over the real service: `benchmarks/SCALE.md` says what is real in it and what is not.

## Write your own numbers

Prices, the size of a zip, how long bytes are kept, and what you promise your participants are **assumptions of this
page and no quotes**. They stand in `benchmarks/scale/prices.toml`:

{prices}

Change them, then

<!-- not run: writes this page -->
```console
$ make scale RENDER=1        # measures nothing and writes this page anew
```

Asked for here: a public score within {wait:.0f} minutes in the rush of the last day, the last private score
{final:.0f} hours after the close, GPUs not busier than {gpu_busy:.0%} on average, and cores of database and web not
busier than {busy:.0%} in the fullest hour.

## What an entry costs

{costs}

Seconds of the GPU are those of an H100 with `inception_v3` and `nasnetalarge`, as `make gpu-check` measured them
there (`benchmarks/GPU.md`); no whole competition ran on one. The same command tells what yours reaches: with half of
that speed you need twice the GPUs. A competition that scores with `efficientnet_lite0` and `efficientnet_lite2` needs
no GPU. The seconds of evidence are from {evidence}.

## What they need

{tables}

- *Waits* are those of rates, hour by hour, and so too short: `benchmarks/SCALE.md` has them beside the simulation's.
- *Cores beside GPUs* check, decode, and do the host's part of scores, as many as keep all GPUs busy. *Cores for
  evidence* make it as fast as entries come on average, so that it lags behind the rush by some days and is never
  missing for good.
- *Web* is uploads and one look at the board for each score. People look more often: one process answers some hundred
  boards a second (`benchmarks/LOAD.md`), and a proxy that caches public boards takes most of that.
- *Database* is what its transactions cost on a machine that did not wait for the disk; yours will. One server with a
  copy that takes over is meant, its cores are those of the one. Bytes are those of the tables without evidence.
- *Uploads* come in at the rate of the fullest hour, all from outside; what workers read from the store is as much
  again.
- GPUs *all the time* run for two months. *While they compute* is what Kubernetes' scaling by the age of queues pays
  ([Run on Kubernetes](run-on-kubernetes.md)), without the minutes in which they start.
- The blob store keeps all zips; [rules by which they leave](publish-and-release.md#the-entries-zips) make it less.

{measured}
"""


def _costs(costs: EntryCosts) -> MarkdownTable:
    rows = [
        ("GPU, public and private score, s", f"{costs.public:.1f} + {costs.private:.1f}", "measured, features"),
        ("host, check and scores, s of processors", f"{costs.host:.1f}", "measured"),
        ("evidence on both tracks, s of processors", f"{costs.evidence:.0f}", "measured at 2,048 dimensions"),
        ("web, ms of processors", f"{1000 * costs.web:.0f}", "measured, small images"),
        ("database, ms of processors", f"{1000 * costs.database:.0f}", "measured"),
        ("database, KB", f"{costs.database_bytes / 1e3:.1f}", "measured, without evidence"),
    ]
    return MarkdownTable("", ("", "an entry", ""), rows)


def _prices(prices: Prices) -> MarkdownTable:
    currency = prices.currency
    rows = [
        (f"`gpu_hour`, {currency}", f"{prices.gpu_hour:.2f}"),
        (f"`core_hour`, {currency}", f"{prices.core_hour:.2f}"),
        (f"`database_gb_month`, {currency}", f"{prices.database_gb_month:.3f}"),
        (f"`object_gb_month`, {currency}", f"{prices.object_gb_month:.3f}"),
        ("`zip_megabytes`", f"{prices.zip_megabytes:.0f}"),
        ("`kept_months`", f"{prices.kept_months:g}"),
        ("`longest_wait_minutes`", f"{prices.wanted.longest_wait_minutes:g}"),
        ("`final_hours`", f"{prices.wanted.final_hours:g}"),
        ("`busy_share`", f"{prices.wanted.busy_share:g}"),
        ("`gpu_busy_share`", f"{prices.wanted.gpu_busy_share:g}"),
    ]
    return MarkdownTable("", ("", "assumed"), rows)


def _needs(needs: list[Need], prices: Prices) -> str:
    def row(name: str, *cells: str) -> tuple[str, ...]:
        return name, *cells

    rows = [
        row("entries", *(f"{need.entries:,.0f}" for need in needs)),
        row("entries in the fullest hour", *(f"{need.fullest_hour:,.0f}" for need in needs)),
        row("**GPUs**", *(f"**{need.gpus:,}**" for need in needs)),
        row("longest wait for a public score, min", *(f"{need.wait_minutes:.1f}" for need in needs)),
        row("last private score after the end, h", *(f"{need.final_hours:.1f}" for need in needs)),
        row("cores beside GPUs", *(f"{need.cores['host']:,}" for need in needs)),
        row("cores for evidence", *(f"{need.cores['evidence']:,}" for need in needs)),
        row("cores of the web", *(f"{need.cores['web']:,}" for need in needs)),
        row("cores of the database", *(f"{need.cores['database']:,}" for need in needs)),
        row("uploads in the fullest hour, Mbit/s", *(f"{need.megabits:,.0f}" for need in needs)),
        row("database, GB", *(f"{need.database_gb:,.1f}" for need in needs)),
        row("zips, TB", *(f"{need.object_tb:,.1f}" for need in needs)),
        *(
            row(f"{name}, {prices.currency}", *(f"{need.costs[name]:,.0f}" for need in needs))
            for name in needs[0].costs
        ),
    ]
    header = ("", *(f"{competitions:,} competitions" for competitions in COMPETITIONS))
    return "\n".join(markdown_of(MarkdownTable("", header, rows)))
