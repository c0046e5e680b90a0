"""The tables of ZOO.md, computed from the stored results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType

from benchmarks.harness.report import MarkdownTable
from benchmarks.zoo.detection import (
    EvidenceKind,
    auc_of,
    caught_by,
    measured_evidence,
    measured_rules,
    opening_of,
    outcomes_found_by,
    signs_in,
    threshold_of,
    unsure_signs,
)
from benchmarks.zoo.entries import HONEST, MEMORISING, MIXED
from benchmarks.zoo.intervals import auc_interval, share_with_interval
from benchmarks.zoo.outcomes import Outcome, Zoo
from benchmarks.zoo.spaces import SpaceReading
from benchmarks.zoo.targets import (
    ANY_SIGN,
    MOST_ERROR,
    MOST_FID,
    detection_targets,
    honest_networks,
    is_opening_right,
    is_share_right,
    multiples_by_track,
    training_errors,
)
from scorer.findings.summary import VERDICTS
from scorer.lifecycle import TRACK_KINDS, TrackKind

Row = tuple[str, tuple[str, ...]]
"""The name of a row, and the methods whose entries it is about."""


def method_rows(zoo: Zoo, *, honest: bool) -> list[Row]:
    """A row for each method, memorising, mixed and, if asked for, honest, and one for all of each kind."""
    groups: list[tuple[str, Sequence[str]]] = [("all memorising", MEMORISING), ("all mixed", tuple(MIXED))]
    rows: list[Row] = []
    for name, methods in groups + ([("all honest", HONEST)] if honest else []):
        found = [method for method in methods if zoo.of(method)]
        mark = "*" if methods is HONEST else ""
        rows += [(f"{mark}{method}{mark} ({len(zoo.of(method))})", (method,)) for method in found]
        rows.append((f"{mark}{name}{mark} ({len(zoo.of(*methods))})", tuple(methods)))
    return rows


def memorisers_table(zoo: Zoo) -> MarkdownTable:
    """What training errors the networks reached that draw training images again."""
    rows = [
        (method, str(len(square.values)), square.text(1), mean.text(1), square.within(MOST_ERROR))
        for method, (square, mean) in training_errors(zoo).items()
    ]
    header = (
        "network",
        "seeds",
        "root mean square error, grey levels",
        "mean error",
        f"at most {MOST_ERROR:g}",
    )
    return MarkdownTable("Networks that draw training images again", header, rows)


def honest_table(zoo: Zoo) -> MarkdownTable:
    """How far the honest networks' images are from the reference, beside photographs and normal distributions."""
    rows = []
    for method in [*honest_networks(zoo), "normal"]:
        if zoo.of(method):
            multiples = multiples_by_track(zoo, method)
            verdicts = [each.within(MOST_FID) for each in multiples.values()] if method != "normal" else [""]
            rows.append(
                (method, *(multiples[track].text(2) for track in TRACK_KINDS), " / ".join(dict.fromkeys(verdicts)))
            )
    header = ("FID, times that of photographs", *TRACK_KINDS, f"at most {MOST_FID:g}")
    return MarkdownTable("Honest networks", header, rows)


def targets_table(held: Zoo) -> MarkdownTable:
    """The targets of detection and what was reached."""
    rows = [
        (
            each.claim,
            f"at {'least' if each.at_least else 'most'} {each.bound:.1%}",
            share_with_interval(each.count, each.total),
            each.verdict,
        )
        for each in detection_targets(held)
    ]
    return MarkdownTable("", ("claim", "target", "measured", ""), rows)


def auc_table(held: Zoo, track: TrackKind) -> MarkdownTable:
    """AUC of every kind of evidence, with its interval."""
    evidence, honest = measured_evidence(held), len(held.of(*HONEST))
    rows = []
    for name, methods in method_rows(held, honest=False):
        if held.of(*methods):
            cells = [_auc(auc_of(held, track, each, *methods), len(held.of(*methods)), honest) for each in evidence]
            rows.append((name, *cells))
    return MarkdownTable(_of(held, track), ("AUC", *(each.name for each in evidence)), rows)


def _auc(auc: float, positives: int, negatives: int) -> str:
    low, high = auc_interval(auc, positives, negatives)
    return f"{auc:.2f} ({low:.2f} to {high:.2f})"


def threshold_table(zoo: Zoo, track: TrackKind) -> MarkdownTable:
    """What is beyond the most suspicious honest entry of other seeds."""
    fixing, held = zoo.fixing, zoo.held
    evidence = measured_evidence(held)
    rows = [
        (name, *(_caught(fixing, held, track, each, methods) for each in evidence))
        for name, methods in method_rows(held, honest=True)
    ]
    return MarkdownTable(_of(held, track), ("beyond the threshold", *(each.name for each in evidence)), rows)


def _caught(fixing: Zoo, held: Zoo, track: TrackKind, evidence: EvidenceKind, methods: Sequence[str]) -> str:
    caught = caught_by(held, track, evidence, threshold_of(fixing, track, evidence), *methods)
    return share_with_interval(caught, len(held.of(*methods)))


def rules_table(held: Zoo) -> MarkdownTable:
    """What each rule of the service finds on either track."""
    rules = measured_rules(held)
    rows = [
        (
            name,
            *(
                share_with_interval(len(outcomes_found_by(held, rule, *methods)), len(held.of(*methods)))
                for rule in rules
            ),
        )
        for name, methods in method_rows(held, honest=True)
    ]
    return MarkdownTable("", ("found on either track", *(each.name for each in rules)), rows)


def power_table(held: Zoo) -> MarkdownTable:
    """The power of each rule, and its false alarms."""
    groups: Mapping[str, Sequence[str]] = {"memorising": MEMORISING, **{name: (name,) for name in MIXED}}
    groups = {**groups, "honest": HONEST}
    rows = [
        (
            rule.name,
            rule.p_value,
            *(
                share_with_interval(len(outcomes_found_by(held, rule, *group)), len(held.of(*group)))
                for group in groups.values()
            ),
        )
        for rule in measured_rules(held)
    ]
    return MarkdownTable("", ("found on either track", "p-value", *groups), rows)


def mixtures_table(held: Zoo) -> MarkdownTable:
    """Mixtures that show any sign, by whose copies they have."""
    strengths = list(dict.fromkeys(each.title.strength for each in held.of(*MIXED)))
    rows = []
    for strength in strengths:
        cells = []
        for share in dict.fromkeys(MIXED.values()):
            methods = [method for method, each in MIXED.items() if each == share]
            entries = [each for each in held.of(*methods) if each.title.strength == strength]
            found = {each.title for each in outcomes_found_by(held, ANY_SIGN, *methods)}
            cells.append(share_with_interval(sum(each.title in found for each in entries), len(entries)))
        rows.append((strength, *cells))
    shares = (f"{share:.0%} of the images" for share in dict.fromkeys(MIXED.values()))
    return MarkdownTable("", ("copies", *shares), rows)


def sentence_table(held: Zoo) -> MarkdownTable:
    """How often the sentence at the desk is right."""
    rows = []
    for name, methods in method_rows(held, honest=True):
        outcomes = held.of(*methods)
        openings = [opening_of(each) for each in outcomes]
        counts = [sum(each.verdict == verdict for each in openings) for verdict in VERDICTS]
        shares = sorted(each.share for each in openings if each.share is not None)
        said = f"{median(shares):.0%} ({shares[0]:.0%} to {shares[-1]:.0%})" if shares else ""
        right = share_with_interval(sum(map(is_opening_right, outcomes)), len(outcomes))
        many = share_with_interval(sum(map(is_share_right, outcomes)), len(outcomes))
        rows.append((name, *map(str, counts), said, right, many))
    right = share_with_interval(sum(map(is_opening_right, held.outcomes)), len(held.outcomes))
    many = share_with_interval(sum(map(is_share_right, held.outcomes)), len(held.outcomes))
    rows.append((f"all ({len(held.outcomes)})", *("" for _ in VERDICTS), "", right, many))
    header = ("entries", *VERDICTS, "share of copies said", "copies or not: right", "how many: within a factor of two")
    return MarkdownTable("", header, rows)


def flagged_lines(held: Zoo) -> Iterator[str]:
    """Which honest entries show a sign, and which signs."""
    for each in outcomes_found_by(held, ANY_SIGN, *HONEST):
        names = [
            rule.name
            for rule in measured_rules(held)
            if rule.columns and each in outcomes_found_by(held, rule, each.title.method)
        ]
        yield f"`{' '.join(filter(None, each.title[:2]))}` of seed {each.title.seed}: {', '.join(names)}"


def discoveries_line(held: Zoo) -> str:
    """What the control of false discoveries changes, for every seed as a competition and for its honest entries as
    one."""
    counts = []
    for methods in (held.methods, HONEST):
        unsure = sum(len(unsure_signs(Zoo((each,)).of(*methods))) for each in held.seeds)
        signs = sum(len(signs_in(read)) for each in held.of(*methods) for read in each.readings.values())
        counts.append(f"{unsure} of {signs}")
    return (
        "The desk's sentence does not count what is likely a false discovery among all tests of all entries on both "
        f"tracks: {counts[0]} signs if each seed is a competition, and {counts[1]} if its honest entries are one. The "
        "tables count all signs."
    )


def missed_lines(zoo: Zoo) -> Iterator[str]:
    """One sentence for every kind of evidence: which methods it catches beyond its threshold, over both spaces."""
    held = zoo.held
    methods = [method for method in held.methods if method not in HONEST]
    for evidence in measured_evidence(held):
        caught = {method: _caught_counts(zoo, evidence, method) for method in methods}
        complete = [method for method, (low, _, entries) in caught.items() if low == entries]
        none = [method for method, (_, high, _) in caught.items() if high == 0]
        some = [
            f"{method} ({low if low == high else f'{low} to {high}'} of {entries})"
            for method, (low, high, entries) in caught.items()
            if method not in {*complete, *none}
        ]
        kinds = (("catches every", complete), ("some of", some), ("none of", none))
        yield f"**{evidence.name}** " + "; ".join(f"{how} {', '.join(names)}" for how, names in kinds if names) + "."


def _caught_counts(zoo: Zoo, evidence: EvidenceKind, method: str) -> tuple[int, int, int]:
    """The smaller and the larger number caught in the two spaces, and the number of entries."""
    held = zoo.held
    caught = [
        caught_by(held, track, evidence, threshold_of(zoo.fixing, track, evidence), method) for track in TRACK_KINDS
    ]
    return min(caught), max(caught), len(held.of(method))


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
    """Medians of both spaces; one number where both have the same."""
    rows = []
    for method in zoo.methods:
        entries = zoo.of(method)
        cells = [[_median(entries, track, *column) for track in TRACK_KINDS] for column in _MEDIANS.values()]
        rows.append((f"{method} ({len(entries)})", *(" / ".join(dict.fromkeys(both)) for both in cells)))
    return MarkdownTable("Medians of each method's entries, all seeds", ("public / private", *_MEDIANS), rows)


def _median(
    entries: Sequence[Outcome], track: TrackKind, pattern: str, value: Callable[[SpaceReading], float | None]
) -> str:
    known = [number for each in entries if (number := value(each.readings[track])) is not None]
    return pattern.format(median(known)) if known else "none"


def _of(zoo: Zoo, track: TrackKind) -> str:
    return f"{track.capitalize()} space, {zoo.seeds[0].extractors[track]}"
