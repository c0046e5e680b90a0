"""RESULTS.md: tables, and for every target whether it was met, computed from the stored measurements alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.harness.changed_files import ChangedSince, changed_since
from benchmarks.harness.isolation import Run
from benchmarks.harness.results import BenchmarkResult, read_results
from benchmarks.harness.rounds import Spread, median_of, spread_of

OUTDATED = " †"
"""Behind every row and verdict whose timed code has changed since it was measured."""


@dataclass(frozen=True)
class Target:
    """A claim that ``value`` is at least, or at most, ``bound``; both are shown with ``unit``.

    ``spread`` is that of the value over the rounds, for a claim that may be undecided: if the bound lies in it.
    """

    claim: str
    value: float
    bound: float
    at_least: bool
    unit: str = ""
    spread: Spread | None = None

    @property
    def met(self) -> bool:
        """Whether the claim holds; never for nan."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def decided(self) -> bool:
        """Whether all rounds give the verdict of the medians."""
        return self.spread is None or not self.spread.minimum < self.bound < self.spread.maximum


@dataclass(frozen=True)
class MarkdownTable:
    """A Markdown table; all cells are text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    case: str | None = None
    """The name of the measurement's case whose runs the table shows; None: it shows all cases."""


@dataclass(frozen=True)
class Section:
    """One measurement's part of the page."""

    title: str
    method: str
    tables: Sequence[MarkdownTable]
    targets: Sequence[Target]
    notes: Sequence[str] = field(default_factory=tuple)
    timed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Which files and folders of the repository a row times, by how its name begins; by "" those of every row."""


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


def ratio_spread(runs: Sequence[Run], base: Sequence[Run], key: str = "seconds") -> Spread | None:
    """The spread over the rounds of the ratio of the runs to those of ``base``; None for a single round."""
    ratios = [{key: run[key] / other[key]} for run, other in zip(runs, base, strict=False)]
    return spread_of(ratios, key) if len(ratios) > 1 else None


SPEED_INTRODUCTION = """\
Made by `make bench`; the numbers behind it are in `results/`. All contenders of a table ran in turn in the same
session, each run in a process of its own and with the same number of threads. The head of a table says of how many runs
the medians are; in brackets are the least and the most. *x* is how many times as long as Kennel the other took.
Verdicts are computed from the medians; one that not every round gives is *undecided*. Results are kept by processor: a
section has those of the one that measured last, and below them what others measured of its targets. † stands behind
what was measured before the code that it times was changed (`make reference` looks)."""


@dataclass(frozen=True)
class MeasuredSection:
    """A measurement's newest result and its section, and those of other processors."""

    result: BenchmarkResult
    section: Section
    elsewhere: Sequence[tuple[BenchmarkResult, Section]] = ()


def stored_sections(makers: Mapping[str, Callable[[BenchmarkResult], Section]], folder: Path) -> list[MeasuredSection]:
    """The sections of all measurements that have a result in ``folder``; ``makers``: how each one's is made, by name,
    in the order of the page."""
    found = []
    for name, make in makers.items():
        sections = [(result, make(result)) for result in read_results(name, folder)]
        found += [MeasuredSection(*sections[0], sections[1:])] if sections else []
    return found


def page(
    sections: Iterable[MeasuredSection],
    explanations: Path,
    *,
    title: str = "What Kennel's speed was measured to be",
    introduction: str = SPEED_INTRODUCTION,
    changed: ChangedSince = changed_since,
) -> str:
    """The whole page. ``explanations`` may hold a Markdown file for each measurement, for the end of its section;
    ``changed`` tells what has changed since a result's commit."""
    parts = [(each, _outdated_rows(each.result, each.section, changed)) for each in sections]
    targets = [
        (each.section.title, target, OUTDATED if outdated else "")
        for each, outdated in parts
        for target in each.section.targets
    ]
    lines = [f"# {title}", "", introduction, "", *_summary(targets), ""]
    for each, outdated in parts:
        lines += _section_lines(each.result, each.section, outdated)
        for other, section in each.elsewhere:
            lines += _elsewhere_lines(other, section, _outdated_rows(other, section, changed))
        explanation = explanations / f"{each.result.measurement}.md"
        if explanation.is_file():
            lines += [explanation.read_text().strip(), ""]
    return "\n".join(lines).rstrip() + "\n"


def _outdated_rows(result: BenchmarkResult, section: Section, changed: ChangedSince) -> dict[str, list[str] | None]:
    """By how a row's name begins: the files that have changed since it was measured, None if that is not known."""
    commit = result.machine.get("commit", "")
    found = {row: changed(commit, paths) for row, paths in section.timed.items()}
    return {row: files for row, files in found.items() if files is None or files}


def _summary(targets: Sequence[tuple[str, Target, str]]) -> list[str]:
    rows = [
        (title, target.claim, _bound(target), _measured(target), _outcome(target) + mark)
        for title, target, mark in targets
    ]
    met = sum(target.met and target.decided for _, target, _ in targets)
    head = f"## Targets: {met} of {len(targets)} met"
    return [head, "", *markdown_of(MarkdownTable("", ("measurement", "claim", "target", "measured", ""), rows))]


def _bound(target: Target) -> str:
    return f"{'at least' if target.at_least else 'at most'} {target.bound:g}{target.unit}"


def _measured(target: Target) -> str:
    spread = target.spread
    between = f" ({spread.minimum:.3g} to {spread.maximum:.3g})" if spread else ""
    return f"{target.value:.3g}{target.unit}{between}"


def _outcome(target: Target) -> str:
    if not target.decided:
        return "**undecided**"
    return "met" if target.met else "**missed**"


def _section_lines(result: BenchmarkResult, section: Section, outdated: Mapping[str, list[str] | None]) -> list[str]:
    lines = [f"## {section.title}", "", section.method, ""]
    for table in section.tables:
        lines += [f"### {table.title}", ""] if table.title else []
        lines += [*markdown_of(_told(table, result, tuple(outdated))), ""]
    lines += [f"- {note}" for note in section.notes] + ([""] if section.notes else [])
    return [*lines, machine_line(result.machine), *_changes_line(outdated), ""]


def _elsewhere_lines(result: BenchmarkResult, section: Section, outdated: Mapping[str, list[str] | None]) -> list[str]:
    """What another processor's result says of the targets; its tables are in its file."""
    mark = OUTDATED if outdated else ""
    rows = [(target.claim, _bound(target), _measured(target), _outcome(target) + mark) for target in section.targets]
    table = MarkdownTable("", ("claim", "target", "measured", ""), rows)
    lines = [f"### On {result.machine['processor']}", ""]
    lines += [*markdown_of(table), ""] if rows else []
    return [*lines, machine_line(result.machine), *_changes_line(outdated), ""]


def _told(table: MarkdownTable, result: BenchmarkResult, outdated: tuple[str, ...]) -> MarkdownTable:
    """The table, whose head says how many runs its medians are of, and whose outdated rows are marked."""
    counts = Counter[str]()
    for case in result.cases:
        if table.case in (None, case.name):
            counts |= Counter({name: len(runs) for name, runs in case.runs.items()})
    most = max(counts.values(), default=0)
    runs = {0: "", 1: "one run"}.get(most, f"medians of {most} runs")
    single = tuple(name for name, count in counts.items() if count == 1 < most)
    head = f"{table.header[0]} ({runs})" if table.header[0] and runs else table.header[0] or runs
    rows = [
        (
            row[0]
            + (" (one run)" if single and row[0].startswith(single) else "")
            + (OUTDATED if outdated and row[0].startswith(outdated) else ""),
            *row[1:],
        )
        for row in table.rows
    ]
    return replace(table, header=(head, *table.header[1:]), rows=rows)


def _changes_line(outdated: Mapping[str, list[str] | None]) -> list[str]:
    if not outdated:
        return []
    files = sorted({f"`{file}`" for found in outdated.values() for file in found or ()})
    if not files:
        return ["", "†: the commit that was measured is not known here, so the code may have changed since."]
    return ["", f"†: measured before later changes of {', '.join(files)}."]


def machine_line(facts: Mapping[str, str]) -> str:
    """One sentence: when, on what machine and with which versions something was measured."""
    system = f"{facts['processor']}, {facts['cores']} cores, {facts['memory']}, {facts['system']}"
    threads = f"{facts['threads']} thread{'s' if facts['threads'] != '1' else ''}"
    commit = f" at commit {facts['commit']}" if facts.get("commit") else ""
    return f"Measured {facts['date']}{commit} with {threads} on {system}; {facts['versions']}."


def source_of(result: BenchmarkResult) -> str:
    """Half a sentence that says which measurement a number comes from: its name, date, commit and processor."""
    facts = result.machine
    commit = f" at {facts['commit']}" if facts.get("commit") else ", without a commit,"
    return f"`{result.measurement}` of {facts['date']}{commit} on {facts['processor']}"


def markdown_of(table: MarkdownTable) -> list[str]:
    """The lines of a Markdown table, the first column aligned left and the others right."""
    rule = ["---", *["---:"] * (len(table.header) - 1)]
    return [f"| {' | '.join(row)} |" for row in (table.header, rule, *table.rows)]
