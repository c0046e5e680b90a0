"""The report: one JSON line a round, and what was counted."""

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
    """The rounds so far; none if there is no report."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, outcome: Outcome) -> None:
    """Add a round."""
    with path.open("a") as file:
        file.write(json.dumps(outcome.as_json()) + "\n")


def next_seed(rounds: Iterable[dict[str, Any]]) -> int:
    """The seed after the last one."""
    return max((each["seed"] for each in rounds), default=-1) + 1


def newest_of(rounds: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last run of each seed: a seed that broke a promise is run again once its cause is fixed."""
    return list({each["seed"]: each for each in rounds}.values())


def summary_of(runs: list[dict[str, Any]]) -> str:
    """Markdown tables of the newest run of each seed: by kind of fault, rounds that counted, that were skipped, and
    that broke a promise; by step, the faults that began there. Seeds run again after a broken promise are named."""
    rounds = newest_of(runs)
    counted, skipped, broken = Counter[str](), Counter[str](), Counter[str]()
    entries = Counter[str]()
    for each in rounds:
        for kind in each["kinds"]:
            skipped[kind] += each["skipped"] is not None
            counted[kind] += each["skipped"] is None
            broken[kind] += bool(each["violations"])
        entries.update(each["entries"])
    whole = [each for each in rounds if each["skipped"] is None]
    lines = ["| fault | rounds | skipped | with a broken promise |", "|---|---:|---:|---:|"]
    lines += [f"| `{kind}` | {counted[kind]} | {skipped[kind]} | {broken[kind]} |" for kind in KINDS]
    ended = ", ".join(f"{count:,} {status}" for status, count in sorted(entries.items()) if status != "attempts")
    head = (
        f"{len(whole):,} rounds, {sum(bool(each['violations']) for each in whole):,} with a broken promise;"
        f" {entries['attempts']:,} uploads tried. Entries by outcome: {ended or 'none'}."
    )
    former = sorted(each["seed"] for each in runs if each["violations"] and each not in rounds)
    if former:
        head += f" Seeds run again after a broken promise: {', '.join(map(str, former))}."
    steps = Counter(step for each in whole for text in each["faults"] for step in re.findall(AT_STEP, text))
    lines += ["", "| step at which a fault began | faults |", "|---|---:|"]
    lines += [f"| {step} | {steps[step]:,} |" for step in STEPS]
    return "\n".join([head, "", *lines, ""])
