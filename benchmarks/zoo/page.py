"""ZOO.md: which evidence sees which way to memorise; every number and every sentence with one is computed."""

from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.report import Table, machine_line, markdown_of
from benchmarks.zoo.detection import EVIDENCE, Evidence, detected, findings
from benchmarks.zoo.outcomes import TRACKS, Zoo
from benchmarks.zoo.roster import HONEST, MEMORISING, METHODS, MIXED

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

TELLS = """\
**AUC** is the probability that an entry of the method looks more like copying than an honest one; behind it how many
of its entries look more like copying than *every* honest one (detection at zero false positives). *s* is the
memorization distance; *Z_U* and *C_T* the tests of data-copying; *near copies* the share of images nearer to a training
image or its mirror image than all but 1 % of photographs, *upright alone* the same without mirror images; *repeats* the
share of images with a near double within the entry; *equal pixels* the share that are training images, mirrored or
not."""

FINDS = """\
The same by the service's own rules, which know no honest entries: *s* below half that of the held-out photographs (the
tau that a track begins with), a p-value below 1 % for the tests, and for shares of images at least 5 % as well, more
than half for equal pixels. What is found in honest entries (in italics) is a false alarm; *repeats* are no copying of
training images."""


def page(zoo: Zoo, figures: Sequence[str], explanation: str = "") -> str:
    """The whole page; ``figures`` are files beside it."""
    lines = ["# What each kind of evidence sees", "", INTRODUCTION, "", *_sizes(zoo), ""]
    lines += ["## Told from honest entries", "", TELLS, ""]
    for track in TRACKS:
        lines += _titled(_told_apart(zoo, track))
    lines += ["## Found by the service's rules", "", FINDS, ""]
    for track in TRACKS:
        lines += _titled(_found(zoo, track))
    lines += ["## Who misses what", "", *(f"- {sentence}" for sentence in _misses(zoo)), ""]
    lines += [explanation.strip(), ""] if explanation else []
    lines += _titled(_medians(zoo))
    lines += ["## The paper's figures", ""]
    lines += [line for name in figures for line in (f"![{name.removesuffix('.svg')}](figures/zoo/{name})", "")]
    return "\n".join([*lines, machine_line(zoo.machine)]) + "\n"


def _sizes(zoo: Zoo) -> list[str]:
    counts = zoo.counts
    own, honest = len(zoo.of(*MEMORISING)), len(zoo.of(*HONEST))
    missing = [method for method in METHODS if method not in zoo.methods]
    spaces = ", ".join(f"{track} `{zoo.extractors[track]}` ({zoo.cells[track]} cells for C_T)" for track in TRACKS)
    return [
        f"{own} memorising, {len(zoo.of(*MIXED))} mixed and {honest} honest entries of {counts['entry']} images of"
        f" 64 x 64 pixels (that of photographs: {counts['photographs']}), beside {counts['train']:,} training images,"
        f" {counts['held_out']} held-out ones and, in the private reference only, {counts['private_extra']} more."
        f" Spaces: {spaces}.",
        *([f"\n**Not measured in this run: {', '.join(missing)}.**"] if missing else []),
    ]


def _titled(table: Table) -> list[str]:
    return [f"### {table.title}", "", *markdown_of(table), ""]


def _rows(zoo: Zoo) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names and methods of the rows that are no honest ones."""
    for method in zoo.methods:
        if method not in HONEST:
            yield f"{method} ({len(zoo.of(method))})", (method,)
    yield f"all memorising ({len(zoo.of(*MEMORISING))})", MEMORISING


def _told_apart(zoo: Zoo, track: str) -> Table:
    rows = []
    for name, methods in _rows(zoo):
        found = [detected(zoo, track, evidence, *methods) for evidence in EVIDENCE]
        rows.append((name, *(f"{each.auc:.2f}, {each.caught}/{each.entries}" for each in found)))
    return Table(_of(zoo, track), ("AUC, caught", *(each.name for each in EVIDENCE)), rows)


def _found(zoo: Zoo, track: str) -> Table:
    rows = []
    for name, methods in [*_rows(zoo), *((f"*{method}*", (method,)) for method in zoo.methods if method in HONEST)]:
        counts = [findings(zoo, track, evidence, *methods) for evidence in EVIDENCE]
        rows.append((name, *(f"{found}/{whole}" for found, whole in counts)))
    return Table(_of(zoo, track), ("found", *(each.name for each in EVIDENCE)), rows)


def _of(zoo: Zoo, track: str) -> str:
    return f"{track.capitalize()} space, {zoo.extractors[track]}"


def _misses(zoo: Zoo) -> Iterator[str]:
    """For every kind of evidence, what it does not find at zero false positives in either space."""
    methods = [method for method in zoo.methods if method not in HONEST]
    for evidence in EVIDENCE:
        seen = {method: _caught(zoo, evidence, method) for method in methods}
        whole = [method for method, (least, _, entries) in seen.items() if least == entries]
        none = [method for method, (_, most, _) in seen.items() if most == 0]
        some = [
            f"{method} ({least if least == most else f'{least} to {most}'} of {entries})"
            for method, (least, most, entries) in seen.items()
            if method not in {*whole, *none}
        ]
        kinds = (("catches every", whole), ("some of", some), ("none of", none))
        yield f"**{evidence.name}** " + "; ".join(f"{how} {', '.join(names)}" for how, names in kinds if names) + "."


def _caught(zoo: Zoo, evidence: Evidence, method: str) -> tuple[int, int, int]:
    """The fewer and the more caught of the two spaces, and how many entries there are."""
    found = [detected(zoo, track, evidence, method) for track in TRACKS]
    return min(each.caught for each in found), max(each.caught for each in found), found[0].entries


def _medians(zoo: Zoo) -> Table:
    columns = ("fid", "distance", "c_t", "authenticity", "near_copies")
    formats = ("{:.0f}", "{:.3f}", "{:+.1f}", "{:.0%}", "{:.0%}")
    rows = []
    for method in zoo.methods:
        cells = []
        for column, shown in zip(columns, formats, strict=True):
            both = []
            for track in TRACKS:
                values = [getattr(each.readings[track], column) for each in zoo.of(method)]
                known = [value for value in values if value is not None]
                both.append(shown.format(median(known)) if known else "none")
            cells.append(" / ".join(both))
        rows.append((f"{method} ({len(zoo.of(method))})", *cells))
    header = ("public / private", "FID", "s", "C_T", "authentic", "near copies")
    return Table("Medians of each method's entries", header, rows)
