"""ZOO.md: which evidence detects which method. What stands here is computed from the stored results; the explanation at
the end of the page (``explanations/zoo.md``) was written by hand about one run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType

from scipy.stats import norm

from benchmarks.harness.report import MarkdownTable, machine_line, markdown_of
from benchmarks.zoo.detection import (
    EvidenceKind,
    Rule,
    detection_of,
    measured_evidence,
    measured_rules,
    opening_of,
    outcomes_found_by,
)
from benchmarks.zoo.entries import HONEST, MEMORISING, METHODS, MIXED
from benchmarks.zoo.outcomes import Outcome, Zoo
from benchmarks.zoo.spaces import SpaceReading
from scorer.findings.summary import VERDICTS
from scorer.lifecycle import TRACK_KINDS, TrackKind

_GROUPS: Mapping[str, Sequence[str]] = MappingProxyType(
    {"memorising": MEMORISING, "mixed": tuple(MIXED), "honest": HONEST}
)

INTRODUCTION = """\
Made by `python -m benchmarks.zoo`; the numbers behind it are in `results/zoo.json`. Small networks were trained on the
demo's photographs, each in minutes on one core, some to memorise and some honestly, and their images were scored as
entries are, in the demo's two feature spaces.

| method | what it is |
| --- | --- |
| mgan | a GAN whose discriminator learns from training images alone which is which, then is frozen; one-hot seeds |
| sup | one-hot seeds mapped to training images by squared error |
| ae, vae | training images through an autoencoder, through a variational one |
| aug | training images mirrored, cropped, recoloured, noisy, blended, all at once |
| half, quarter copied | such a share of each of the above (the strongest), the rest from `flow` |
| gan | a DCGAN with spectral norms; honest, as are all below |
| vae random, flow | the variational autoencoder's decoder, fed with noise, and with codes drawn by a flow |
| normal | normal distributions of principal components, a mixture of 8, a kernel density of the likeliest width |
| photographs | held-out photographs that are in no reference: what a perfect generator would hand in |

An entry counts once for each number of epochs (or each alteration) and seed. The images are few and small, the networks
trained for minutes: nothing here says how a large generator fares. Early entries of `sup`, `mgan`, `ae` and `vae` have
not learnt much yet; they count as memorising all the same."""

AUC_EXPLANATION = """\
**AUC** is the probability that an entry of the method looks more like copying than an honest one; behind it how many
of its entries look more like copying than *every* honest one (detection at zero false positives). *s* is the
memorization distance; *Z_U* and *C_T* the tests of data-copying; *near copies* the share of images nearer to a training
image or its mirror image than all but 1 % of photographs, *upright alone* the same without mirror images; *repeats* the
share of images with a near double within the entry. The last two need no network and are the same in both spaces:
*thumbnails* is the share of near copies of 8 x 8 pixels, mirrored or not; *equal pixels* the share that are training
images, mirrored or not."""

NEWER_EVIDENCE: Mapping[str, str] = MappingProxyType(
    {
        "relative distance": "*relative distance* is the share of images nearer to one training image, relative"
        " to others, than 95 % of photographs.",
        "membership": "*membership* is how often, of a training image and a photograph, the training image is the"
        " nearer one to the entry.",
    }
)

SENTENCE_EXPLANATION = """\
An entry's page at the desk opens with one sentence, by a fixed rule from the signs of both tracks. It is right of a
memorising or mixed entry if it says that there are copies, and of an honest one if it speaks of no training images;
behind it Wilson's 95 % interval. Nothing of the rule was fitted to these entries but the signs' thresholds, which were
set while looking at some of them."""

RULES_EXPLANATION = """\
What the service itself would say, which knows no honest entries: whether *s* lies below half that of the held-out
photographs (the tau that a track begins with), whether the entry is refused a score because more than half of its
images are training images pixel by pixel, and every sign of copying that a reviewer is shown, by its name, all made by
the worker's own code. What is found in honest entries (in italics) is a false alarm; *repeats* and *identical-images*
are about the entry alone, not about training images."""


POWER_EXPLANATION = """\
How many entries each rule finds on either track, behind it Wilson's 95 % interval: of the memorising and of the mixed
entries its power, of the honest ones its false alarms. A rule has no p-value where it is a limit on a distance or a
count; all others ask that chance does not explain the number, too, and can be corrected for how many there are."""


def page(zoo: Zoo, figures: Sequence[str], explanation: str = "") -> str:
    """The whole page. ``figures`` are names of files in ``figures/zoo``."""
    lines = ["# What each kind of evidence sees", "", INTRODUCTION, "", *_sizes(zoo), ""]
    lines += ["## Told from honest entries", "", _auc_explanation(zoo), ""]
    for track in TRACK_KINDS:
        lines += _titled(_auc_table(zoo, track))
    lines += ["## Found by the service's rules", "", RULES_EXPLANATION, ""]
    for track in TRACK_KINDS:
        lines += _titled(_rules_table(zoo, track))
    lines += ["## The power of each sign", "", POWER_EXPLANATION, "", *markdown_of(_power_table(zoo)), ""]
    lines += ["## The sentence at the desk", "", SENTENCE_EXPLANATION, "", *markdown_of(_sentence_table(zoo)), ""]
    lines += ["## Who misses what", "", *(f"- {sentence}" for sentence in _missed_lines(zoo)), ""]
    lines += [explanation.strip(), ""] if explanation else []
    lines += _titled(_medians(zoo))
    lines += ["## The paper's figures", ""]
    lines += [line for name in figures for line in (f"![{name.removesuffix('.svg')}](figures/zoo/{name})", "")]
    return "\n".join([*lines, machine_line(zoo.machine)]) + "\n"


def _sizes(zoo: Zoo) -> list[str]:
    counts = zoo.counts
    memorising, honest = len(zoo.of(*MEMORISING)), len(zoo.of(*HONEST))
    missing = [method for method in METHODS if method not in zoo.methods]
    spaces = ", ".join(f"{track} `{zoo.extractors[track]}` ({zoo.cells[track]} cells for C_T)" for track in TRACK_KINDS)
    return [
        f"{memorising} memorising, {len(zoo.of(*MIXED))} mixed and {honest} honest entries of {counts['entry']} images"
        f" of 64 x 64 pixels (that of photographs: {counts['photographs']}), beside {counts['train']:,} training"
        f" images, {counts['held_out']} held-out ones and, in the private reference only, {counts['private_extra']}"
        f" more. Spaces: {spaces}.",
        *([f"\n**Not measured in this run: {', '.join(missing)}.**"] if missing else []),
    ]


def _titled(table: MarkdownTable) -> list[str]:
    return [f"### {table.title}", "", *markdown_of(table), ""]


def _rows(zoo: Zoo) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names and methods of the table rows of memorising and mixed entries."""
    for method in zoo.methods:
        if method not in HONEST:
            yield f"{method} ({len(zoo.of(method))})", (method,)
    yield f"all memorising ({len(zoo.of(*MEMORISING))})", MEMORISING


def _auc_explanation(zoo: Zoo) -> str:
    """What the columns of the table mean, those of newer results too."""
    named = {each.name for each in measured_evidence(zoo)}
    return AUC_EXPLANATION + "".join(f" {words}" for name, words in NEWER_EVIDENCE.items() if name in named)


def _auc_table(zoo: Zoo, track: TrackKind) -> MarkdownTable:
    rows = []
    for name, methods in _rows(zoo):
        detections = [detection_of(zoo, track, evidence, *methods) for evidence in measured_evidence(zoo)]
        rows.append((name, *(f"{each.auc:.2f}, {each.caught}/{each.entries}" for each in detections)))
    return MarkdownTable(_of(zoo, track), ("AUC, caught", *(each.name for each in measured_evidence(zoo))), rows)


def _rules_table(zoo: Zoo, track: TrackKind) -> MarkdownTable:
    rules = measured_rules(zoo)
    rows = []
    honest: list[tuple[str, tuple[str, ...]]] = [
        (f"*{method}*", (method,)) for method in zoo.methods if method in HONEST
    ]
    honest += [("*all honest*", HONEST)]
    for name, methods in [*_rows(zoo), *honest]:
        counts = [len(outcomes_found_by(zoo, track, rule, *methods)) for rule in rules]
        rows.append((name, *(f"{count}/{len(zoo.of(*methods))}" for count in counts)))
    return MarkdownTable(_of(zoo, track), ("found", *(each.name for each in rules)), rows)


def _power_table(zoo: Zoo) -> MarkdownTable:
    rows = [
        (rule.name, rule.p_value, *(_power(zoo, rule, group) for group in _GROUPS.values()))
        for rule in measured_rules(zoo)
    ]
    header = (f"{name} ({len(zoo.of(*group))})" for name, group in _GROUPS.items())
    return MarkdownTable("", ("found on either track", "p-value", *header), rows)


def _power(zoo: Zoo, rule: Rule, methods: Sequence[str]) -> str:
    found = {each.title for track in TRACK_KINDS for each in outcomes_found_by(zoo, track, rule, *methods)}
    total = len(zoo.of(*methods))
    low, high = wilson_interval(len(found), total)
    return f"{len(found)}/{total} ({low:.0%} to {high:.0%})"


def _sentence_table(zoo: Zoo) -> MarkdownTable:
    rows = []
    honest = [(f"*{method}*", (method,)) for method in zoo.methods if method in HONEST]
    mixed = (f"all mixed ({len(zoo.of(*MIXED))})", tuple(MIXED))
    for name, methods in [*_rows(zoo), mixed, *honest, ("*all honest*", HONEST)]:
        openings = [opening_of(each) for each in zoo.of(*methods)]
        counts = [sum(each.verdict == verdict for each in openings) for verdict in VERDICTS]
        shares = sorted(each.share for each in openings if each.share is not None)
        said = f"{median(shares):.0%} ({shares[0]:.0%} to {shares[-1]:.0%})" if shares else ""
        right = counts[-2] + counts[-1] if {*methods} <= {*HONEST} else counts[0]
        interval = wilson_interval(right, len(openings))
        rows.append(
            (name, *map(str, counts), said, f"{right}/{len(openings)} ({interval[0]:.0%} to {interval[1]:.0%})")
        )
    return MarkdownTable("", ("entries", *VERDICTS, "share of copies said", "right"), rows)


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) of nothing."""
    if not total:
        return 0.0, 1.0
    width = float(norm.isf(0.025)) ** 2
    middle, half = (
        (count + width / 2) / (total + width),
        (width * count * (total - count) / total + width**2 / 4) ** 0.5,
    )
    return max(0.0, middle - half / (total + width)), min(1.0, middle + half / (total + width))


def _of(zoo: Zoo, track: TrackKind) -> str:
    return f"{track.capitalize()} space, {zoo.extractors[track]}"


def _missed_lines(zoo: Zoo) -> Iterator[str]:
    """One sentence for every kind of evidence: which methods it detects at zero false positives, over both spaces."""
    methods = [method for method in zoo.methods if method not in HONEST]
    for evidence in measured_evidence(zoo):
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
    detections = [detection_of(zoo, track, evidence, method) for track in TRACK_KINDS]
    return min(each.caught for each in detections), max(each.caught for each in detections), detections[0].entries


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


def _medians(zoo: Zoo) -> MarkdownTable:
    """Medians of both spaces; one number where both have the same."""
    rows = []
    for method in zoo.methods:
        entries = zoo.of(method)
        cells = [[_median(entries, track, *column) for track in TRACK_KINDS] for column in _MEDIANS.values()]
        rows.append((f"{method} ({len(entries)})", *(" / ".join(dict.fromkeys(both)) for both in cells)))
    return MarkdownTable("Medians of each method's entries", ("public / private", *_MEDIANS), rows)


def _median(
    entries: Sequence[Outcome], track: TrackKind, pattern: str, value: Callable[[SpaceReading], float | None]
) -> str:
    known = [number for each in entries if (number := value(each.readings[track])) is not None]
    return pattern.format(median(known)) if known else "none"
