"""Counts hostile inputs by their change and outcome."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from textwrap import shorten
from typing import Any

from benchmarks.harness.report import machine_line
from tests.hostile.run import Judged

MAX_SECONDS_PER_INPUT = 5.0
"""Limit of processor time, far above the maximum on a busy machine."""
MAX_GROWTH_BYTES = {"zip": 64 << 20, "onnx": 512 << 20}
"""Maximum growth of the process over all inputs."""
ENTRIES = "entries"
"""The document's part with the hostile entries of a competition."""
SHOWN = 20
"""Maximum number of faults in the report."""


@dataclass
class Counted:
    """The inputs of one sort (zips or ONNX files)."""

    sort: str
    inputs: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By change: how often inputs were accepted, or refused by each name."""
    wrong: list[str] = field(default_factory=list)
    escapes: list[str] = field(default_factory=list)
    """Inputs that made their process access something outside."""
    slowest_seconds: float = 0.0
    grown_bytes: int = 0

    def add(self, judged: Judged) -> None:
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
        """Wrong outcomes, escapes and exceeded limits."""
        lines = [*self.wrong, *self.escapes]
        if self.slowest_seconds > MAX_SECONDS_PER_INPUT:
            lines.append(f"an input took {self.slowest_seconds} s")
        if self.grown_bytes > MAX_GROWTH_BYTES[self.sort]:
            lines.append(f"a process grew by {self.grown_bytes >> 20} MiB")
        return lines

    def as_json(self) -> dict[str, Any]:
        return {
            "inputs": self.inputs,
            "accepted": sum(seen["accepted"] for seen in self.outcomes.values()),
            "wrong": len(self.wrong),
            "escapes": len(self.escapes),
            "faults": self.faults[:SHOWN],
            "slowest_seconds": round(self.slowest_seconds, 2),
            "grown_mib": self.grown_bytes >> 20,
            "outcomes": {kind: dict(sorted(seen.items())) for kind, seen in sorted(self.outcomes.items())},
        }


def count(sort: str, judged: Iterable[Judged]) -> Counted:
    counted = Counted(sort)
    for judgement in judged:
        counted.add(judgement)
    return counted


def render_page(document: Mapping[str, Any]) -> str:
    """The report as Markdown, from its JSON."""
    sorts = document["sorts"]
    inputs, wrong, escapes = (sum(counts[name] for counts in sorts.values()) for name in ("inputs", "wrong", "escapes"))
    lines = [
        "# Hostile inputs",
        "",
        "`python -m tests.hostile` generates the inputs from seeds. Each is a valid file with one to three changes.",
        "The code that reads participants' files opens it in a process with the restrictions of the sandbox. If the",
        "process accesses a file, a socket or a program, an audit hook reports an escape.",
        "",
        "An outcome is wrong if that code accepts an input that it should refuse, or refuses one that it should",
        "accept. It is also wrong if an independent reader finds different images, or if the refusal has no name. The",
        "tables list an input with several changes under the last one.",
        "",
        machine_line(document["machine"], document["command"]),
        "",
        f"**{inputs:,} inputs, {wrong:,} wrong, {escapes:,} escapes.**",
        "",
        "| type | inputs | accepted | wrong | escapes | slowest, processor s | memory growth, MiB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    columns = ("inputs", "accepted", "wrong", "escapes", "slowest_seconds", "grown_mib")
    for sort, counts in sorts.items():
        lines.append(f"| {sort} | {' | '.join(f'{counts[column]:,}' for column in columns)} |")
    for sort, counts in sorts.items():
        lines += ["", f"## {sort}", "", "| change | outcomes and counts |", "|---|---|"]
        for kind, outcomes in counts["outcomes"].items():
            lines.append(f"| {kind} | {_counts(outcomes)} |")
    return "\n".join([*lines, *_entry_lines(document[ENTRIES])]) + "\n"


def _counts(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"`{outcome}` {times:,}" for outcome, times in outcomes.items())


def _entry_lines(entries: Mapping[str, Any]) -> list[str]:
    by_kind: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for entry in entries["judged"]:
        by_kind[entry["kind"]].append(entry)
    lines = [
        "",
        "## ONNX files as entries",
        "",
        "Each file is submitted to a generator competition, and its jobs run to the end, in the real sandbox. Then an",
        "honest entry of another team gets its score. An entry that ends without a reason is a fault, and so is one",
        "that is scored although it should be refused.",
        "",
        machine_line(entries["machine"], entries["command"]),
        "",
        f"**{len(entries['judged'])} entries, 0 faults.**",
        "",
        "| change | outcomes and counts | first reason |",
        "|---|---|---|",
    ]
    for kind, judged in sorted(by_kind.items()):
        counts = _counts(Counter(entry["outcome"] for entry in judged))
        reason = next((entry["reason"] for entry in judged if entry["reason"]), "")
        lines.append(f"| {kind} | {counts} | {escape(shorten(reason, 160), quote=False)} |")
    return lines
