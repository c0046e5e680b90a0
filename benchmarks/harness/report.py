"""Benchmark pages. Prose is written manually; the parts between two comments are rendered from stored results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness.isolation import Run
from benchmarks.harness.results import BenchmarkResult, Spread, compute_median, compute_spread

PART = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
MAIN = "all"
"""The name of the only part of most pages."""


@dataclass(frozen=True)
class Target:
    """A claim that ``value`` is at least, or at most, ``bound``. ``unit`` is shown after both.

    ``spread`` is the value's spread over the rounds. The claim is undecided if the bound is inside it.
    """

    claim: str
    value: float
    bound: float
    at_least: bool
    unit: str = ""
    spread: Spread | None = None

    @property
    def met(self) -> bool:
        """Whether the claim holds; False for nan."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def verdict(self) -> str:
        """Whether the medians meet the bound, and whether all rounds agree."""
        if self.spread and self.spread.minimum < self.bound < self.spread.maximum:
            return "**undecided**"
        return "met" if self.met else "**missed**"


@dataclass(frozen=True)
class MarkdownTable:
    """A Markdown table; all cells are text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        return "\n".join([*([f"### {self.title}", ""] if self.title else []), *render_markdown(self.header, self.rows)])


@dataclass(frozen=True)
class Findings:
    tables: Sequence[MarkdownTable]
    targets: Sequence[Target] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def seconds(runs: Sequence[Run], key: str = "seconds") -> str:
    """The median, with minimum and maximum in brackets if there was more than one run."""
    spread = compute_spread(runs, key)
    digits = 3 if spread.median < 1 else 2 if spread.median < 20 else 1
    text = f"{spread.median:.{digits}f}"
    return text if len(runs) == 1 else f"{text} ({spread.minimum:.{digits}f} to {spread.maximum:.{digits}f})"


def mebibytes(runs: Sequence[Run], key: str = "peak_bytes") -> str:
    """The median of bytes, in MiB; empty if not measured."""
    return f"{compute_median(runs, key) / 2**20:,.0f}" if key in runs[0] else ""


def times(runs: Sequence[Run], base: Sequence[Run], key: str = "seconds") -> float:
    """The ratio of the runs' median to that of ``base``."""
    return compute_median(runs, key) / compute_median(base, key)


def ratio_spread(runs: Sequence[Run], base: Sequence[Run], key: str = "seconds") -> Spread | None:
    """The spread over the rounds of the ratio of the runs to those of ``base``; None for a single round."""
    ratios = [{key: run[key] / other[key]} for run, other in zip(runs, base, strict=False)]
    return compute_spread(ratios, key) if len(ratios) > 1 else None


def render_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, the first column aligned left and the others right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]


def machine_line(facts: Mapping[str, str], command: str = "") -> str:
    """One sentence with date, command, machine and versions of a measurement."""
    system = f"{facts['processor']}, {facts['cores']} cores, {facts['memory']}, {facts['system']}"
    threads = f"{facts['threads']} thread{'s' if facts['threads'] != '1' else ''}"
    commit = f" at commit {facts['commit']}" if facts.get("commit") else ""
    by = f" by `{command}`" if command else ""
    return f"Measured {facts['date']}{commit}{by} with {threads} on {system}; {facts['versions']}."


def targets_table(targets: Sequence[Target]) -> str:
    rows = []
    for target in targets:
        bound = f"{'at least' if target.at_least else 'at most'} {target.bound:g}{target.unit}"
        spread = target.spread
        between = f" ({spread.minimum:.3g} to {spread.maximum:.3g})" if spread else ""
        rows.append((target.claim, bound, f"{target.value:.3g}{target.unit}{between}", target.verdict))
    return "\n".join(render_markdown(("target", "bound", "measured", ""), rows))


def results_text(results: Sequence[tuple[BenchmarkResult, Findings]]) -> str:
    """The newest result in full, and the targets of the other processor families' results."""
    (newest, findings), *others = results
    notes = "\n".join(f"- {note}" for note in findings.notes)
    parts = [targets_table(findings.targets) if findings.targets else "", *map(str, findings.tables), notes]
    parts.append(_source(newest))
    for result, other in others:
        parts += [f"### On {result.machine['processor']}", targets_table(other.targets) if other.targets else ""]
        parts.append(_source(result))
    return "\n\n".join(part for part in parts if part)


def _source(result: BenchmarkResult) -> str:
    counts = [len(runs) for case in result.measured if "runs" in case for runs in case["runs"].values()]
    rounds = f"Medians of {max(counts)} runs. " if max(counts, default=1) > 1 else ""
    return f"{rounds}{machine_line(result.machine, result.command)}"


def rendered(page: str, parts: Mapping[str, str]) -> str:
    """The page with the text of each of its ``parts``; ``LookupError`` if the page has other parts."""
    names = [name for _, name, _ in PART.findall(page)]
    if sorted(names) != sorted(parts):
        raise LookupError(f"the page has the parts {', '.join(names)}; rendered were {', '.join(parts)}")
    return PART.sub(lambda part: f"{part[1]}\n{parts[part[2]]}\n\n{part[3]}", page)


def write_page(path: Path, parts: Mapping[str, str]) -> None:
    path.write_text(rendered(path.read_text(), parts))
