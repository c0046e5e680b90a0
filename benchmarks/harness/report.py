"""RESULTS.md: tables, and for every target whether it was met, computed from the stored measurements alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness.isolation import Run
from benchmarks.harness.results import BenchmarkResult, read_result
from benchmarks.harness.rounds import median_of, spread_of


@dataclass(frozen=True)
class Target:
    """A claim that ``value`` is at least, or at most, ``bound``; both are shown with ``unit``."""

    claim: str
    value: float
    bound: float
    at_least: bool
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the claim holds; never for nan."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass(frozen=True)
class MarkdownTable:
    """A Markdown table; all cells are text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """One measurement's part of the page."""

    title: str
    method: str
    tables: Sequence[MarkdownTable]
    targets: Sequence[Target]
    notes: Sequence[str] = field(default_factory=tuple)


def seconds(runs: Sequence[Run], key: str = "seconds") -> str:
    """The median, and in brackets the minimum and the maximum if there was more than one run."""
    spread = spread_of(runs, key)
    digits = _digits(spread.median)
    text = f"{spread.median:.{digits}f}"
    return text if len(runs) == 1 else f"{text} ({spread.minimum:.{digits}f} to {spread.maximum:.{digits}f})"


def _digits(median: float) -> int:
    if median < 1:
        return 3
    return 2 if median < 20 else 1


def mebibytes(runs: Sequence[Run], key: str = "peak_bytes") -> str:
    """The median of bytes, in MiB."""
    return f"{median_of(runs, key) / 2**20:,.0f}"


def times(runs: Sequence[Run], base: Sequence[Run], key: str = "seconds") -> float:
    """The ratio of the runs' median to that of ``base``."""
    return median_of(runs, key) / median_of(base, key)


SPEED_INTRODUCTION = """\
Made by `make bench`; the numbers behind it are in `results/`. All contenders of a table ran in turn in the same
session, round after round, each run in a process of its own and with the same number of threads. Shown are medians, in
brackets the least and the most. *x* is how many times as long as Kennel the other took. Verdicts are computed from the
medians."""


def stored_sections(
    makers: Mapping[str, Callable[[BenchmarkResult], Section]], folder: Path
) -> list[tuple[BenchmarkResult, Section]]:
    """The sections of all measurements that have a result in ``folder``; ``makers``: how each one's is made, by name,
    in the order of the page."""
    results = ((make, read_result(name, folder)) for name, make in makers.items())
    return [(result, make(result)) for make, result in results if result is not None]


def page(
    sections: Iterable[tuple[BenchmarkResult, Section]],
    explanations: Path,
    *,
    title: str = "What Kennel's speed was measured to be",
    introduction: str = SPEED_INTRODUCTION,
) -> str:
    """The whole page. ``explanations`` may hold a Markdown file for each measurement, for the end of its section."""
    parts = list(sections)
    targets = [(section.title, target) for _, section in parts for target in section.targets]
    lines = [f"# {title}", "", introduction, "", *_summary(targets), ""]
    for result, section in parts:
        lines += _section_lines(result, section)
        explanation = explanations / f"{result.measurement}.md"
        if explanation.is_file():
            lines += [explanation.read_text().strip(), ""]
    return "\n".join(lines).rstrip() + "\n"


def _summary(targets: Sequence[tuple[str, Target]]) -> list[str]:
    rows = [
        (title, target.claim, _bound(target), f"{target.value:.3g}{target.unit}", _outcome(target))
        for title, target in targets
    ]
    met = sum(target.met for _, target in targets)
    head = f"## Targets: {met} of {len(targets)} met"
    return [head, "", *markdown_of(MarkdownTable("", ("measurement", "claim", "target", "measured", ""), rows))]


def _bound(target: Target) -> str:
    return f"{'at least' if target.at_least else 'at most'} {target.bound:g}{target.unit}"


def _outcome(target: Target) -> str:
    return "met" if target.met else "**missed**"


def _section_lines(result: BenchmarkResult, section: Section) -> list[str]:
    lines = [f"## {section.title}", "", section.method, ""]
    for table in section.tables:
        lines += [f"### {table.title}", ""] if table.title else []
        lines += [*markdown_of(table), ""]
    lines += [f"- {note}" for note in section.notes] + ([""] if section.notes else [])
    return [*lines, machine_line(result.machine), ""]


def machine_line(facts: Mapping[str, str]) -> str:
    """One sentence: when, on what machine and with which versions something was measured."""
    system = f"{facts['processor']}, {facts['cores']} cores, {facts['memory']}, {facts['system']}"
    threads = f"{facts['threads']} thread{'s' if facts['threads'] != '1' else ''}"
    commit = f" at commit {facts['commit']}" if facts.get("commit") else ""
    return f"Measured {facts['date']}{commit} with {threads} on {system}; {facts['versions']}."


def markdown_of(table: MarkdownTable) -> list[str]:
    """The lines of a Markdown table, the first column aligned left and the others right."""
    rule = ["---", *["---:"] * (len(table.header) - 1)]
    return [f"| {' | '.join(row)} |" for row in (table.header, rule, *table.rows)]
