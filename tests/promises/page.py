"""The generated part of ``docs/explanation/promises.md``: the table of promises, and the counts of the rounds."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.faults.rounds import report
from tests.promises.guards import REPOSITORY
from tests.promises.promises import PROMISES

PAGE = REPOSITORY / "docs" / "explanation" / "promises.md"
ROUNDS = REPOSITORY / "benchmarks" / "results" / "faults.jsonl"
BEGIN, END = "<!-- Written by `python -m tests.promises --write`. -->", "<!-- End of what is written. -->"
MARKS = {True: "", False: "**passes without its guard**", None: "not yet tested without its guard"}


def tables(results: Mapping[str, bool], rounds: list[dict[str, Any]]) -> str:
    """The tables, in Markdown."""
    counted = Counter(
        kind for outcome in report.newest_rounds(rounds) if outcome["skipped"] is None for kind in outcome["kinds"]
    )
    lines = ["## Promises and tests", "", "Every test fails without its guard, unless its row says otherwise.", ""]
    lines += ["| promise | test and guard | rounds |", "|---|---|---:|"]
    for promise in PROMISES:
        tries = f"{sum(counted[kind] for kind in promise.kinds):,}" if promise.kinds else "–"
        parts = [*promise.test.split("::"), *(file for file, _, _ in promise.guards)]
        mark = MARKS[results.get(promise.fingerprint)]
        cell = "<br>".join([*(f"`{part}`" for part in parts), *([mark] if mark else [])])
        lines.append(f"| {promise.promise} | {cell} | {tries} |")
    return "\n".join([*lines, "", "## Counts of rounds", "", report.render_summary(rounds)])


def page_with(text: str, written: str) -> str:
    """The page with its generated part replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{written}\n{END}{after}"


def rendered(text: str, results: Mapping[str, bool]) -> str:
    """The page with its current tables."""
    return page_with(text, tables(results, report.read_report(ROUNDS)))
