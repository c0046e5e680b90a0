"""The page's section about the last hour: outcomes, refusals, waiting times, fairness."""

from benchmarks.harness.report import MarkdownTable, Section, Target
from benchmarks.harness.results import BenchmarkResult
from benchmarks.load.last_hour_findings import GRAIN_SECONDS, TOLERANCE

MIN_RIGHT_SHARE = 0.9
METHOD = """\
Every team hands in one, two or three zips within the hour (half of the teams one, a fifth three), by the API, the
product's client and the kaggle wire in equal parts; the rate rises to five times its first value at the close, and some
come too late. A few zips have a fault that only the deep check finds. Limits are the usual ones: five entries a day,
two in progress. Who is refused for these tries again later. Each entry's event stream is read from its acceptance on.
Workers measure with `tiny` after having waited as long as real networks had been measured to take for 10,000 images
({public} s for the public score, {private} s for the private one); the hour and this waiting are compressed by the same
factor, and all else (uploads, checks, the database, the looks of event streams once a second) is not. Waits are in time
of the hour. Evidence is not made."""
FAIR = """\
Fair is: while a team's first entry waits for its score, no other team's scores begin more than once; while its second
waits, not more than twice. An entry is a team's first if no other of it is in progress, and none has begun since the
entry was queued that waits longest."""


def section(result: BenchmarkResult) -> Section:
    """The tables and the targets."""
    (case,) = result.cases
    (run,) = case.runs["Kennel"]
    settings = case.settings
    compression = 3600 / settings["played_seconds"]
    ways = ", ".join(f"{run[f'accepted_{way}']:.0f} by {way}" for way in ("api", "client", "wire"))
    outcomes = [
        ("attempts", f"{run['attempts']:,.0f}"),
        ("accepted", f"{run['accepted']:,.0f}: {ways}"),
        ("scored", f"{run['scored']:,.0f}"),
        ("rejected for the zip's own fault", f"{run['rejected']:.0f}"),
        ("failed for our fault", f"{run['failed']:.0f}"),
        ("refused: two entries in progress", f"{run['refused_pending']:.0f}"),
        ("refused: closed", f"{run['refused_closed']:.0f}"),
        ("not answered by the service, and tried again", f"{run['server_errors']:.0f}"),
        ("refused without reason, these included", f"{run['wrongly_refused']:.0f}"),
        ("answer to an upload, median and longest, s of the clock", _two(run, "answer_median_ms", "answer_max_ms")),
        ("wait for the score, median and longest, min", f"{run['wait_median'] / 60:.0f}, {run['wait_max'] / 60:.0f}"),
        ("last score after the close, min", f"{run['drained_after_close'] / 60:.0f}"),
    ]
    grain = f"or {GRAIN_SECONDS:g} s of the clock ({GRAIN_SECONDS * compression:.0f} s of the hour)"
    times = [
        (
            name,
            f"{run[f'estimates_{key}']:,.0f}",
            *(f"{100 * run[f'right_{key}{how}']:.1f} %" for how in ("_strictly", "")),
        )
        for name, key in (("first told after acceptance", "first"), ("all told while waiting", "waiting"))
    ]
    turns = [
        ("a team's first entry", *_turns(run, "first")),
        ("a further entry", *_turns(run, "later")),
    ]
    title = f"{settings['teams']} teams, {settings['workers']} workers, {compression:g} times as fast"
    return Section(
        "The last hour",
        METHOD.format(**{kind: _between(run, kind) for kind in ("public", "private")}),
        [
            MarkdownTable(title, ("", ""), outcomes),
            MarkdownTable(
                "Estimates of the wait",
                ("", "told", f"off by at most {100 * TOLERANCE:.0f} %", grain),
                times,
            ),
            MarkdownTable("Turns", ("", "entries", "overtaken unfairly"), turns),
        ],
        [
            Target("entries that did not end as their zips deserve", run["wrong_outcomes"], 0, False),
            Target("refusals without reason", run["wrongly_refused"], 0, False),
            Target("right estimates at acceptance", run["right_first"], MIN_RIGHT_SHARE, True),
            Target("right estimates while waiting", run["right_waiting"], MIN_RIGHT_SHARE, True),
            Target("first entries overtaken unfairly", run["fairness_first_unfair"], 0, False),
            Target("further entries overtaken unfairly", run["fairness_later_unfair"], 0, False),
        ],
        [
            FAIR,
            f"{run['states_without_estimate']:.0f} states had no estimate, before the first scores were done.",
        ],
    )


def _between(run: dict[str, float], kind: str) -> str:
    return f"{run[f'{kind}_seconds_shortest']:.0f} to {run[f'{kind}_seconds_longest']:.0f}"


def _two(run: dict[str, float], *names: str) -> str:
    return ", ".join(f"{run[name] / 1000:.2f}" for name in names)


def _turns(run: dict[str, float], which: str) -> tuple[str, str]:
    return f"{run[f'fairness_{which}_entries']:,.0f}", f"{run[f'fairness_{which}_unfair']:.0f}"
