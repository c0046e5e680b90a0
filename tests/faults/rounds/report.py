"""The report: one JSON line per round, and the counts."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.faults.rounds.fault_kinds import KINDS
from tests.faults.rounds.round import Outcome
from tests.faults.rounds.steps import STEPS

AT_STEP = r"^at (\w+) of entry"


def read_report(path: Path) -> list[dict[str, Any]]:
    """The rounds so far. Empty if there is no report."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, outcome: Outcome) -> None:
    with path.open("a") as file:
        file.write(json.dumps(outcome.as_json()) + "\n")


def next_seed(rounds: Iterable[dict[str, Any]]) -> int:
    return max((outcome["seed"] for outcome in rounds), default=-1) + 1


def newest_rounds(rounds: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last run of each seed. Seeds that broke a promise are run again after a fix."""
    return list({outcome["seed"]: outcome for outcome in rounds}.values())


def render_summary(runs: list[dict[str, Any]]) -> str:
    """Markdown tables of the last run of each seed.

    The first table counts rounds by kind of fault: completed, skipped, and with a broken promise. The second counts
    faults by the step at which they began. The text lists seeds that were run again after a broken promise.
    """
    rounds = newest_rounds(runs)
    counted, skipped, broken = Counter[str](), Counter[str](), Counter[str]()
    entries = Counter[str]()
    for outcome in rounds:
        for kind in outcome["kinds"]:
            skipped[kind] += outcome["skipped"] is not None
            counted[kind] += outcome["skipped"] is None
            broken[kind] += bool(outcome["violations"])
        entries.update(outcome["entries"])
    whole = [outcome for outcome in rounds if outcome["skipped"] is None]
    lines = ["| fault | rounds | skipped | with a broken promise |", "|---|---:|---:|---:|"]
    lines += [f"| `{kind}` | {counted[kind]} | {skipped[kind]} | {broken[kind]} |" for kind in KINDS]
    ended = ", ".join(f"{count:,} {status}" for status, count in sorted(entries.items()) if status != "attempts")
    head = (
        f"{len(whole):,} rounds, {sum(bool(outcome['violations']) for outcome in whole):,} with a broken promise;"
        f" {entries['attempts']:,} uploads tried. Entries by outcome: {ended or 'none'}."
    )
    rerun = sorted(run["seed"] for run in runs if run["violations"] and run not in rounds)
    if rerun:
        head += f" Seeds run again after a broken promise: {', '.join(map(str, rerun))}."
    steps = Counter(step for outcome in whole for text in outcome["faults"] for step in re.findall(AT_STEP, text))
    lines += ["", "| step at which a fault began | faults |", "|---|---:|"]
    lines += [f"| {step} | {steps[step]:,} |" for step in STEPS]
    return "\n".join([head, "", *lines, ""])
