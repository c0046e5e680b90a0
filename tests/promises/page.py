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
SEEN = {True: "yes", False: "no: it stayed green", None: "not yet tried"}


def tables(results: Mapping[str, bool], rounds: list[dict[str, Any]]) -> str:
    """The tables, in Markdown."""
    counted = Counter(kind for each in report.newest_of(rounds) if each["skipped"] is None for kind in each["kinds"])
    lines = ["## Each promise and its test", ""]
    lines += ["| promise | test | seen red without its guard | rounds that try to break it |", "|---|---|---|---:|"]
    for promise in PROMISES:
        tries = f"{sum(counted[kind] for kind in promise.kinds):,}" if promise.kinds else "–"
        seen = SEEN[results.get(promise.fingerprint)]
        files = ", ".join(f"`{file}`" for file, _, _ in promise.guards)
        test = promise.test.replace("::", "`<br>`")
        lines.append(f"| {promise.promise} | `{test}`<br>guard: {files} | {seen} | {tries} |")
    return "\n".join([*lines, "", "## The rounds, counted", "", report.summary_of(rounds)])


def page_with(text: str, written: str) -> str:
    """The page with its generated part replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{written}\n{END}{after}"


def rendered(text: str, results: Mapping[str, bool]) -> str:
    """The page as it should be."""
    return page_with(text, tables(results, report.read_report(ROUNDS)))
