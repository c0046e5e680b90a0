"""The tables of RECOVERY.md, from the stored measurements."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.report import MarkdownTable, machine_line
from benchmarks.harness.results import read_results
from scorer.findings.finding import SIGNIFICANCE_LEVEL


def parts() -> Mapping[str, str]:
    """The text of each part of the page, from the newest result."""
    result = read_results("recovery_experiment")[0]
    return render_tables(result.measured) | {"machine": machine_line(result.machine, result.command)}


def render_tables(measured: Mapping[str, Any]) -> dict[str, str]:
    rows = measured["rows"]
    return {
        "audits": str(_table_1(rows)),
        "distortions": f"{_distortions(rows)}\n\n{_unraised(rows)}",
        "histograms": str(_histograms(rows)),
        "restarts": str(_restarts(rows)),
        "stability": str(_stability(rows)),
        "fid": str(_fids(rows)),
        "costs": str(_costs(rows)),
        "searches": str(_searches(measured["search"])),
    }


DECADES = (1e-3, 1e-2, 1e-1)


def _histograms(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    table = []
    for row in rows:
        edges = row["histogram"]["edges"][:-1]
        for kind, counts in row["histogram"]["counts"].items():
            decade = [sum(edge >= 0.999 * limit for limit in DECADES) for edge in edges]  # edges are rounded powers
            shares = [
                sum(count for count, place in zip(counts, decade, strict=True) if place == wanted) / sum(counts)
                for wanted in range(len(DECADES) + 1)
            ]
            table.append((row["name"], KINDS[kind], *(f"{share:.0%}" for share in shares)))
    header = ("", "images", "below 0.001", "0.001 to 0.01", "0.01 to 0.1", "above 0.1")
    return MarkdownTable("", header, table)


KINDS = {"train": "training", "held_out": "held-out", "generated": "own"}


def _restarts(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    table = [
        (row["name"], *(f"{row['restarts'][kind]['plausible'][place]:.0%}" for kind in KINDS for place in (0, -1)))
        for row in rows
    ]
    count = len(rows[0]["restarts"]["train"]["plausible"])
    header = ("", *(f"{name}, {starts}" for name in KINDS.values() for starts in ("1 start", f"{count} starts")))
    return MarkdownTable("", header, table)


def _stability(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    table = []
    for row in rows:
        stability = row["stability"]
        last = len(stability["median"]) - 1
        medians = [
            f"{stability['median'][place]:.2e} ({stability['low'][place]:.2e} to {stability['high'][place]:.2e})"
            for place in (0, last // 2, last)
        ]
        found = stability["found"]
        table.append((row["name"], f"{sum(found) / len(found):.0%}", f"{min(found):.0%}", *medians))
    return MarkdownTable("", ("", "found", "hardest", "first", "halfway", "last"), table)


def _table_1(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    header = ("", "verdict", "KS", "gap", "MRE train", "held-out", "generated", "warped", "found")
    return MarkdownTable("", header, [_row_1(row) for row in rows])


def _row_1(row: Mapping[str, Any]) -> Sequence[str]:
    measured = row["measured"]
    values = {name: finding["value"] for name, finding in row["findings"].items()}
    interval = "" if measured["gap_low"] is None else f" ({measured['gap_low']:+.3f} to {measured['gap_high']:+.3f})"
    medians = [f"{values[f'recovery_{kind}']:.2e}" for kind in ("train", "held_out", "generated", "warp_train")]
    verdict = "**copies**" if row["verdict"] == "copies" else row["verdict"]
    verbatim = f"{measured['generated_verbatim']:.0%}"
    return (row["name"], verdict, f"{measured['p_value']:.2e}", f"{measured['gap']:+.3f}{interval}", *medians, verbatim)


DISTORTIONS = tuple((how, kind) for kind in ("train", "generated") for how in ("warp", "patches", "noise"))
DISTORTED_KINDS = {"train": "training", "generated": "own"}


def _unraised(rows: Sequence[Mapping[str, Any]]) -> str:
    """The distortions under which errors did not rise beyond chance."""
    unraised = {
        f"{how}, {DISTORTED_KINDS[kind]} images": [
            row["name"] for row in rows if row["findings"][f"recovery_{how}_{kind}"]["p_value"] >= SIGNIFICANCE_LEVEL
        ]
        for how, kind in DISTORTIONS
    }
    lines = [f"- {name}: {', '.join(names)}" for name, names in unraised.items() if names]
    if not lines:
        return "Errors rise beyond chance under every distortion."
    return "\n".join(["Under these distortions, errors do not rise beyond chance (p < 1 %):", "", *lines])


def _distortions(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    header = ("", *(f"{how}, {DISTORTED_KINDS[kind]} images" for how, kind in DISTORTIONS))
    table = []
    for row in rows:
        quantities = [row["findings"][f"recovery_{how}_{kind}"] for how, kind in DISTORTIONS]
        cells = (f"{quantity['value']:.2e} (p {quantity['p_value']:.1e})" for quantity in quantities)
        table.append((row["name"], *cells))
    return MarkdownTable("", header, table)


def _fids(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    forms = {"count": "d", "train": ".1f", "held_out": ".1f", "gap": "+.3f"}
    table = [(row["name"], *(format(row["fid"][key], form) for key, form in forms.items())) for row in rows]
    return MarkdownTable("", ("", "images", "FID train", "FID held-out", "gap"), table)


def _searches(search: Mapping[str, Mapping[str, float]]) -> MarkdownTable:
    header = (
        "",
        "targets",
        "processor seconds per target",
        "evaluations per target",
        "median error",
        "median error, first 16",
    )
    forms = {"targets": ".0f", "seconds": ".3f", "evaluations": ".0f", "median": ".2e", "first": ".2e"}
    rows = [(name, *(format(found[key], form) for key, form in forms.items())) for name, found in search.items()]
    return MarkdownTable("", header, rows)


def _costs(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    keys = {"audit_seconds": ".0f", "evaluations": ",", "file_bytes": ","}
    table = [(row["name"], *(format(row[key], form) for key, form in keys.items())) for row in rows]
    return MarkdownTable("", ("", "audit, s", "images generated and differentiated", "file, bytes"), table)
