"""The tables of ZOO.md, computed from the stored results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType

from benchmarks.harness.report import MarkdownTable
from benchmarks.zoo import targets
from benchmarks.zoo.detection import EVIDENCE, RULES, Rule, choose_opening, compute_auc, outcomes_found_by, signs_in
from benchmarks.zoo.entries import HONEST, HONEST_NETWORKS, MEMORISING, MIXED
from benchmarks.zoo.outcomes import Outcome, Zoo
from benchmarks.zoo.spaces import SpaceReading
from benchmarks.zoo.targets import auc_interval, share_with_interval
from scorer.findings.summary import VERDICTS
from scorer.lifecycle import TRACK_KINDS, TrackKind

Row = tuple[str, tuple[str, ...]]
"""The name of a row, and the methods of its entries."""


def method_rows(zoo: Zoo, *, honest: bool) -> list[Row]:
    """A row for each method, memorising, mixed and optionally honest, and one for all of each kind."""
    groups: list[tuple[str, Sequence[str]]] = [("all memorising", MEMORISING), ("all mixed", tuple(MIXED))]
    rows: list[Row] = []
    for name, methods in groups + ([("all honest", HONEST)] if honest else []):
        found = [method for method in methods if zoo.of(method)]
        mark = "*" if methods is HONEST else ""
        rows += [(f"{mark}{method}{mark} ({len(zoo.of(method))})", (method,)) for method in found]
        rows.append((f"{mark}{name}{mark} ({len(zoo.of(*methods))})", tuple(methods)))
    return rows


def memorisers_table(zoo: Zoo) -> MarkdownTable:
    """The training errors of the networks that reproduce training images."""
    rows = [
        (method, str(len(square.values)), square.text(1), mean.text(1), square.within(targets.MOST_ERROR))
        for method, (square, mean) in targets.training_errors(zoo).items()
    ]
    most = f"at most {targets.MOST_ERROR:g}"
    header = ("network", "seeds", "root mean square error, grey levels", "mean error", most)
    return MarkdownTable("Networks that reproduce training images", header, rows)


def honest_table(zoo: Zoo) -> MarkdownTable:
    """The honest networks' FID, with that of normal distributions."""
    rows = []
    for method in filter(zoo.of, (*HONEST_NETWORKS, "normal")):
        multiples = [targets.fid_multiples(zoo, method, track) for track in TRACK_KINDS]
        verdicts = dict.fromkeys(multiple.within(targets.MOST_FID) for multiple in multiples if method != "normal")
        rows.append((method, *(multiple.text(2) for multiple in multiples), " / ".join(verdicts)))
    header = ("FID as a multiple of the photographs'", *TRACK_KINDS, f"at most {targets.MOST_FID:g}")
    return MarkdownTable("Honest networks", header, rows)


def targets_table(held: Zoo) -> MarkdownTable:
    rows = [
        (
            target.claim,
            f"at {'least' if target.at_least else 'most'} {target.bound:.1%}",
            share_with_interval(target.count, target.total),
            target.verdict,
        )
        for target in targets.detection_targets(held)
    ]
    return MarkdownTable("", ("claim", "target", "measured", ""), rows)


def auc_table(held: Zoo, track: TrackKind) -> MarkdownTable:
    honest = len(held.of(*HONEST))
    rows = []
    for name, methods in method_rows(held, honest=False):
        if held.of(*methods):
            aucs = [compute_auc(held, track, value, *methods) for value in EVIDENCE.values()]
            limits = [auc_interval(auc, len(held.of(*methods)), honest) for auc in aucs]
            cells = zip(aucs, limits, strict=True)
            rows.append((name, *(f"{auc:.2f} ({low:.2f} to {high:.2f})" for auc, (low, high) in cells)))
    title = f"{track.capitalize()} space, {held.seeds[0].extractors[track]}"
    return MarkdownTable(title, ("AUC", *EVIDENCE), rows)


def rules_table(held: Zoo) -> MarkdownTable:
    def found(rule: Rule, methods: Sequence[str]) -> str:
        return share_with_interval(len(outcomes_found_by(held, rule, *methods)), len(held.of(*methods)))

    rows = [(name, *(found(rule, methods) for rule in RULES)) for name, methods in method_rows(held, honest=True)]
    return MarkdownTable("", ("found on either track", *(f"{rule.name} ({rule.p_value})" for rule in RULES)), rows)


def mixtures_table(held: Zoo) -> MarkdownTable:
    strengths = list(dict.fromkeys(entry.title.strength for entry in held.of(*MIXED)))
    rows = []
    for strength in strengths:
        cells = []
        for share in dict.fromkeys(MIXED.values()):
            methods = [method for method, mixed in MIXED.items() if mixed == share]
            entries = [entry for entry in held.of(*methods) if entry.title.strength == strength]
            found = {entry.title for entry in outcomes_found_by(held, targets.ANY_SIGN, *methods)}
            cells.append(share_with_interval(sum(entry.title in found for entry in entries), len(entries)))
        rows.append((strength, *cells))
    shares = (f"{share:.0%} of the images" for share in dict.fromkeys(MIXED.values()))
    return MarkdownTable("", ("copies", *shares), rows)


def sentence_table(held: Zoo) -> MarkdownTable:
    rows = []
    for name, methods in method_rows(held, honest=True):
        outcomes = held.of(*methods)
        openings = [choose_opening(outcome) for outcome in outcomes]
        counts = [sum(opening.verdict == verdict for opening in openings) for verdict in VERDICTS]
        shares = sorted(opening.share for opening in openings if opening.share is not None)
        stated = f"{median(shares):.0%} ({shares[0]:.0%} to {shares[-1]:.0%})" if shares else ""
        rows.append((name, *map(str, counts), stated, *_right(outcomes)))
    rows.append((f"all ({len(held.outcomes)})", *("" for _ in VERDICTS), "", *_right(held.outcomes)))
    header = (
        "entries",
        *VERDICTS,
        "stated share of copies",
        "sentence right about copies",
        "share right within a factor of two",
    )
    return MarkdownTable("", header, rows)


def _right(outcomes: Sequence[Outcome]) -> list[str]:
    kinds = (targets.is_opening_right, targets.is_share_right)
    return [share_with_interval(sum(map(is_right, outcomes)), len(outcomes)) for is_right in kinds]


def flagged_lines(held: Zoo) -> Iterator[str]:
    for outcome in outcomes_found_by(held, targets.ANY_SIGN, *HONEST):
        signs = {sign.name: None for read in outcome.readings.values() for sign in signs_in(read)}
        yield f"`{' '.join(filter(None, outcome.title[:2]))}` of seed {outcome.title.seed}: {', '.join(signs)}"


_MEDIANS: Mapping[str, tuple[str, Callable[[SpaceReading], float | None]]] = MappingProxyType(
    {
        "FID": ("{:.0f}", lambda read: read.fid),
        "s": ("{:.3f}", lambda read: read.distance),
        "C_T": ("{:+.1f}", lambda read: read.numbers.get("c_t")),
        "authentic": ("{:.0%}", lambda read: read.numbers.get("authenticity_share")),
        "near copies": ("{:.0%}", lambda read: read.numbers.get("near_copies_share")),
        "thumbnails": ("{:.0%}", lambda read: read.numbers.get("thumbnail_share")),
    }
)


def medians_table(zoo: Zoo) -> MarkdownTable:
    """Medians of both spaces, as one number if they are equal."""
    rows = []
    for method in zoo.methods:
        entries = zoo.of(method)
        cells = [
            [_median(entries, track, pattern, value=value) for track in TRACK_KINDS]
            for pattern, value in _MEDIANS.values()
        ]
        rows.append((f"{method} ({len(entries)})", *(" / ".join(dict.fromkeys(both)) for both in cells)))
    return MarkdownTable("Medians per method, all seeds", ("public / private", *_MEDIANS), rows)


def _median(
    entries: Sequence[Outcome], track: TrackKind, pattern: str, *, value: Callable[[SpaceReading], float | None]
) -> str:
    known = [number for entry in entries if (number := value(entry.readings[track])) is not None]
    return pattern.format(median(known)) if known else "none"
