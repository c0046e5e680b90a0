"""What was counted of hostile inputs: by what was done to them and what became of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness.report import machine_line
from tests.hostile.run import Judged

MAX_SECONDS_OF_AN_INPUT = 5.0
"""Processor time: far above what any takes on a machine with other work."""
MAX_GROWTH_BYTES = {"zip": 64 << 20, "onnx": 512 << 20}
"""What the process may grow by, over all inputs."""
SHOWN = 20
"""Wrong outcomes and escapes that are kept in full."""


@dataclass
class Counted:
    """The inputs of one sort (zips or ONNX files)."""

    sort: str
    inputs: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By what was done to the input: how often it was accepted, or refused by which name."""
    wrong: list[str] = field(default_factory=list)
    escapes: list[str] = field(default_factory=list)
    """Inputs that made their process reach for something outside."""
    slowest_seconds: float = 0.0
    grown_bytes: int = 0

    def add(self, judged: Judged) -> None:
        """Count one more."""
        self.inputs += 1
        what = f"seed {judged['seed']}, {judged['kind']}"
        self.outcomes[judged["kind"].split("; ")[-1]][judged["outcome"]] += 1
        if judged["wrong"]:
            self.wrong.append(f"{what}: {judged['wrong']}")
        if judged["reached"]:
            self.escapes.append(f"{what}: {judged['reached']}")
        self.slowest_seconds = max(self.slowest_seconds, judged.get("seconds", 0.0))
        self.grown_bytes = max(self.grown_bytes, judged.get("grown", 0))

    @property
    def faults(self) -> list[str]:
        """What must not be: empty if all is well."""
        lines = [*self.wrong, *self.escapes]
        if self.slowest_seconds > MAX_SECONDS_OF_AN_INPUT:
            lines.append(f"an input took {self.slowest_seconds} s")
        if self.grown_bytes > MAX_GROWTH_BYTES[self.sort]:
            lines.append(f"a process grew by {self.grown_bytes >> 20} MiB")
        return lines

    def as_json(self) -> dict[str, Any]:
        """For the file that is kept."""
        return {
            "inputs": self.inputs,
            "accepted": sum(each["accepted"] for each in self.outcomes.values()),
            "wrong": len(self.wrong),
            "escapes": len(self.escapes),
            "faults": self.faults[:SHOWN],
            "slowest_seconds": round(self.slowest_seconds, 2),
            "grown_mib": self.grown_bytes >> 20,
            "outcomes": {kind: dict(sorted(seen.items())) for kind, seen in sorted(self.outcomes.items())},
        }


def count(sort: str, judged: Iterable[Judged]) -> Counted:
    """Count inputs as they are judged."""
    counted = Counted(sort)
    for each in judged:
        counted.add(each)
    return counted


def page_of(document: Mapping[str, Any]) -> str:
    """The report as Markdown, from what was kept."""
    sorts = document["sorts"]
    inputs, wrong, escapes = (sum(each[name] for each in sorts.values()) for name in ("inputs", "wrong", "escapes"))
    lines = [
        "# Hostile inputs",
        "",
        "Made by `python -m tests.hostile`, from seeds. Each input is a sound file with one to three changes. It is",
        "given to the reader of participants' files, in a process confined as the sandbox is, where an audit hook",
        "tells of every file, socket or program that is reached for: an escape. Wrong is what is accepted and should",
        "be refused, or the reverse; what is accepted as other images than an independent reader finds; and what is",
        "refused without a name. An input with several changes is counted with its last.",
        "",
        machine_line(document["machine"], document["command"]),
        "",
        f"**{inputs:,} inputs, {wrong:,} wrong, {escapes:,} escapes.**",
        "",
        "| sort | inputs | accepted | wrong | escapes | slowest, s of processor time | growth of a process, MiB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    columns = ("inputs", "accepted", "wrong", "escapes", "slowest_seconds", "grown_mib")
    for sort, counts in sorts.items():
        lines.append(f"| {sort} | {' | '.join(f'{counts[column]:,}' for column in columns)} |")
    for sort, counts in sorts.items():
        lines += ["", f"## {sort}", "", "| what was done | outcome: times |", "|---|---|"]
        for kind, outcomes in counts["outcomes"].items():
            seen = ", ".join(f"`{outcome}` {times:,}" for outcome, times in outcomes.items())
            lines.append(f"| {kind} | {seen} |")
    return "\n".join(lines) + "\n"
