"""RECOVERY.md, computed from the stored measurements alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.report import MarkdownTable, machine_line, markdown_of
from scorer.findings.finding import SIGNIFICANCE_LEVEL

TITLE = "# Which generators are found to remember their training images"
METHOD = """\
Made by `python -m benchmarks.papers.recovery_experiment`; the numbers behind it are in
`results/recovery_experiment.json`. Generators of one small DCGAN architecture, trained on tiles of the demo's
photographs, are handed in as ONNX files and audited in the sandbox (Webster et al. 2019). GLO-n is fitted to make n
images of n fixed latent points, which makes it remember them if they are few; the DCGAN never sees its output compared
with a training image. Training and held-out tiles are dealt at random from the same photographs: a generator recovers
other tiles of its own photographs better than those of other photographs, whether it remembers or not, so held-out
images must be of the same law.

*MRE* is the median recovery error (mean squared, pixels in [-1, 1]), *gap* is (held-out - train) / held-out with its
95 % interval, *KS* the p-value of the two-sided test. Flagged is p < 1 % with a gap above 10 %. *Found* is the share of
the generator's own images that the search found verbatim; below 90 % nothing would be said. *Warped* is the MRE of
slightly warped training images."""
READING = """\
FID to training images beside FID to as many held-out ones (section 3.4 of the paper), in the features of"""


def page_of(result: Mapping[str, Any]) -> str:
    """The text of RECOVERY.md from the stored results."""
    rows = result["rows"]
    setting = result["setting"]
    plan = setting["plan"]
    latent = setting["latent"]
    sizes = (
        f"Images of {setting['size']} x {setting['size']}, latent dimension {latent['dimension']}; up to"
        f" {plan['train']} training, {plan['held_out']} held-out and {plan['generated']} generated targets, at most"
        f" {plan['starts']} starts of {plan['iterations']} iterations."
    )
    lines = [TITLE, "", METHOD, "", sizes, "", *markdown_of(_table_1(rows)), ""]
    lines += [f"- {each['name']}: {each['sentence']}" for each in rows]
    lines += ["", "## Distortion", "", *markdown_of(_distortions(rows)), "", DISTORTED, ""]
    lines += [*_unraised(rows), ""]
    lines += _search_sections(rows)
    lines += ["## FID does not tell", "", f"{READING} {setting['extractor']}:", "", *markdown_of(_fids(rows)), ""]
    first, last = rows[0]["name"], rows[-1]["name"]
    lines += ["## What was recovered", "", _caption(first, last), "", "![Targets and recoveries](figures/recovery.png)"]
    lines += [
        "",
        "## Cost",
        "",
        *markdown_of(_costs(rows)),
        "",
        SEARCHES,
        "",
        *markdown_of(_searches(result["search"])),
    ]
    lines += ["", machine_line(result["machine"])]
    return "\n".join(lines) + "\n"


def _search_sections(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Histograms, restarts and stability; nothing for results of before they were measured."""
    if not all("restarts" in row for row in rows):
        return []
    lines = ["## Histograms of errors", "", HISTOGRAMS, "", *markdown_of(_histograms(rows)), ""]
    lines += ["## Restarts", "", RESTARTS, "", *markdown_of(_restarts(rows)), ""]
    return [*lines, "## Stability", "", STABILITY, "", *markdown_of(_stability(rows)), ""]


HISTOGRAMS = """\
Shares of targets by the decade of their error (figure 4 of the paper), of the first audit of each generator."""
RESTARTS = """\
The share of targets found plausibly (error below 0.1) after one start and after all, with the authors' steps from drawn
points (table 2)."""
STABILITY = """\
Images of the generator's own, each searched from the same drawn points (appendix C): the share of searches that found
the image verbatim, that of the starts from which the hardest image was found, and the median error of all searches,
with its quartiles, before the first iteration, after half of them and after the last."""
DECADES = (1e-3, 1e-2, 1e-1)


def _histograms(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    table = []
    for row in rows:
        edges = row["histogram"]["edges"][:-1]
        for kind, counts in row["histogram"]["counts"].items():
            decade = [sum(each >= 0.999 * limit for limit in DECADES) for each in edges]  # edges are rounded powers
            shares = [
                sum(count for count, place in zip(counts, decade, strict=True) if place == wanted) / sum(counts)
                for wanted in range(len(DECADES) + 1)
            ]
            table.append((row["name"], KINDS[kind], *(f"{share:.0%}" for share in shares)))
    header = ("", "images", "below 0.001", "0.001 to 0.01", "0.01 to 0.1", "above 0.1")
    return MarkdownTable("", header, table)


KINDS = {"train": "training", "held_out": "held-out", "generated": "its own"}


def _restarts(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    table = [
        (
            row["name"],
            *(f"{row['restarts'][kind]['plausible'][place]:.0%}" for kind in KINDS for place in (0, -1)),
        )
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
    return MarkdownTable("", ("", "found", "hardest", "first", "half way", "last"), table)


DISTORTED = """\
Median errors of distorted targets. *p* is that of the sign test on the same targets without distortion: how likely so
many errors rise by chance."""

UNRAISED = """\
Under these distortions errors do not rise beyond chance (p < 1 %):"""
WARPED = """\
A slightly warped photograph is as likely an image as the photograph itself, and so no harder to make for a generator
that does not remember the very one; in the paper's table, too, some errors fall under distortion."""


def _table_1(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    header = ("", "verdict", "KS", "gap", "MRE train", "held-out", "generated", "warped", "found")
    return MarkdownTable("", header, [_row_1(each) for each in rows])


def _row_1(row: Mapping[str, Any]) -> Sequence[str]:
    measured = row["measured"]
    values = {name: each["value"] for name, each in row["findings"].items()}
    interval = "" if measured["gap_low"] is None else f" ({measured['gap_low']:+.3f} to {measured['gap_high']:+.3f})"
    medians = [f"{values[f'recovery_{kind}']:.2e}" for kind in ("train", "held_out", "generated", "warp_train")]
    verdict = "**copies**" if row["verdict"] == "copies" else row["verdict"]
    verbatim = f"{measured['generated_verbatim']:.0%}"
    return (row["name"], verdict, f"{measured['p_value']:.2e}", f"{measured['gap']:+.3f}{interval}", *medians, verbatim)


DISTORTIONS = tuple((how, kind) for kind in ("train", "generated") for how in ("warp", "patches", "noise"))
DISTORTED_KINDS = {"train": "training", "generated": "own"}


def _unraised(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Under which distortions errors did not rise beyond chance, if under any."""
    lines = []
    for how, kind in DISTORTIONS:
        names = [
            row["name"] for row in rows if row["findings"][f"recovery_{how}_{kind}"]["p_value"] >= SIGNIFICANCE_LEVEL
        ]
        if names:
            lines.append(f"- {how}, {DISTORTED_KINDS[kind]} images: not for {', '.join(names)}")
    if not lines:
        return ["Errors rise beyond chance under every distortion."]
    return [UNRAISED, "", *lines, *(["", WARPED] if any(line.startswith("- warp") for line in lines) else [])]


def _distortions(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    header = ("", *(f"{how}, {DISTORTED_KINDS[kind]} images" for how, kind in DISTORTIONS))
    table = []
    for row in rows:
        quantities = [row["findings"][f"recovery_{how}_{kind}"] for how, kind in DISTORTIONS]
        table.append((row["name"], *(f"{each['value']:.2e} (p {each['p_value']:.1e})" for each in quantities)))
    return MarkdownTable("", header, table)


def _fids(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    table = [
        (
            each["name"],
            str(each["fid"]["count"]),
            f"{each['fid']['train']:.1f}",
            f"{each['fid']['held_out']:.1f}",
            f"{each['fid']['gap']:+.3f}",
        )
        for each in rows
    ]
    return MarkdownTable("", ("", "images", "FID train", "FID held-out", "gap"), table)


def _caption(first: str, last: str) -> str:
    return (
        f"Left {first}, right {last}. Pairs of rows from the top: training images over what was recovered, held-out"
        " images, the generator's own. In a row the best four, the middle four, the worst four."
    )


SEARCHES = """\
The search alone, from the same start with one thread, on held-out images and a GLO after 150 steps. Over a batch,
torch's optimiser has one step length and one Hessian for all targets. The last column compares all three on the same
targets: an optimiser for each, which goes on where the batched search takes a target for stalled, may end lower."""


def _searches(search: Mapping[str, Mapping[str, float]]) -> MarkdownTable:
    header = ("", "targets", "processor seconds each", "evaluations each", "median error", "of the first 16")
    table = [
        (
            name,
            f"{each['targets']:.0f}",
            f"{each['seconds']:.3f}",
            f"{each['evaluations']:.0f}",
            f"{each['median']:.2e}",
            f"{each['first']:.2e}",
        )
        for name, each in search.items()
    ]
    return MarkdownTable("", header, table)


def _costs(rows: Sequence[Mapping[str, Any]]) -> MarkdownTable:
    table = [
        (each["name"], f"{each['audit_seconds']:.0f}", f"{each['evaluations']:,}", f"{each['file_bytes']:,}")
        for each in rows
    ]
    return MarkdownTable("", ("", "seconds of audit", "images made and followed back", "bytes of the file"), table)
