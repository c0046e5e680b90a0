"""ZOO.md: which evidence detects which method. What stands here is computed from the stored results; the explanation at
the end of the page (``explanations/zoo.md``) was written by hand about the seeds that it names."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.report import MarkdownTable, machine_line, markdown_of
from benchmarks.zoo.entries import HONEST, MEMORISING, METHODS, MIXED
from benchmarks.zoo.outcomes import Zoo
from benchmarks.zoo.plan import SEEDS
from benchmarks.zoo.tables import (
    auc_table,
    discoveries_line,
    flagged_lines,
    honest_table,
    medians_table,
    memorisers_table,
    missed_lines,
    mixtures_table,
    power_table,
    rules_table,
    sentence_table,
    targets_table,
    threshold_table,
)
from benchmarks.zoo.targets import photographs_membership
from scorer.lifecycle import TRACK_KINDS

INTRODUCTION = """\
Made by `make zoo`, a seed at a time; the numbers behind it are in `results/zoo_seed_*.json`. Small networks were
trained on the demo's photographs, some to memorise and some honestly, and their images were scored as entries are, in
the demo's two feature spaces.

| method | what it is |
| --- | --- |
| mgan | a GAN whose discriminator learns from training images alone which is which, then is frozen; one-hot seeds |
| sup | one-hot seeds mapped to training images by squared error |
| ae, vae | training images through an autoencoder, through a variational one |
| aug | training images mirrored, cropped, recoloured, noisy, blended, all at once |
| 50 %, 25 %, 10 % altered | such a share of each kind of `aug`, the rest from `diffusion` |
| 50 %, 25 %, 10 % drawn | such a share of `mgan`, `sup`, `ae`, `vae`, the rest from `diffusion` |
| gan | a DCGAN with spectral norms; honest, as are all below |
| flow | the variational autoencoder's decoder, fed with codes that a diffusion model draws |
| diffusion | a diffusion model of pixels |
| normal | normal distributions of principal components, a mixture of 8, and a kernel density of the likeliest width: \
training images under as much noise |
| photographs | held-out photographs that are in no reference: as good as a perfect generator's images |

The images are few and small, and each network was trained for minutes: nothing here says how a large generator fares.
Each seed draws everything anew: the networks' weights, which training images are copied, how they are altered, and
which of the held-out photographs are the reference and which an entry. The photographs are the same for all seeds, so
that intervals tell of other networks and draws, not of other pictures; entries of one seed share much, too."""

REACHED_EXPLANATION = """\
Of a network that draws training images again: how far its images are from these. Of an honest one: its FID as a
multiple of that of photographs, both of as many images. First the median over the seeds, then the least and the
most."""

PHOTOGRAPHS_EXPLANATION = """\
The photographs that are an entry and the held-out ones of the reference are parts of the same few pictures, so that
they are nearer to each other than those of a perfect generator would be: of membership inference they have an AUC of
{found}, where chance has one half. That sign can hardly raise a false alarm on them."""

TARGETS_EXPLANATION = """\
Thresholds are fixed on {fixing}, and judged on {held} alone: all rates below are of the latter. Behind each
stands its 95 % interval, Wilson's. *Not sure* is a verdict whose interval holds the target, too. The service's signs
had their thresholds before any of these seeds was made, but chosen while looking at entries from the same
photographs."""

AUC_EXPLANATION = """\
**AUC** is the probability that an entry of the method looks more like copying than an honest one, behind it its 95 %
interval (Newcombe 2006, method 5). *s* is the memorization distance; *Z_U* and *C_T* the tests of data-copying; *near
copies* the share of images nearer to a training image or its mirror image than all but 1 % of photographs, *upright
alone* the same without mirror images; *relative distance* the share of images nearer to one training image, relative
to others, than 95 % of photographs; *membership* how often, of a training image and a photograph, the training image
is the nearer one to the entry; *repeats* the share of images with a near double within the entry. Three need no
network and are the same in both spaces: *thumbnails* is the share of near copies of 8 x 8 pixels, *perceptual hashes*
that of near copies by those; *equal pixels* the share that are training images, mirrored or not."""

THRESHOLD_EXPLANATION = """\
As a threshold serves the honest entry of {fixing} that looks most like copying: how many entries of the other seeds
look more like it. In italics false alarms."""

RULES_EXPLANATION = """\
What the service itself would say, which knows no honest entries: whether *s* lies below half that of the held-out
photographs (the tau that a track begins with), whether the entry is refused a score because more than half of its
images are training images pixel by pixel, and every sign of copying that a reviewer is shown, by its name, all made by
the worker's own code. What is found in honest entries (in italics) is a false alarm; *repeats* and *identical-images*
are about the entry alone, not about training images."""

POWER_EXPLANATION = """\
Of the memorising and of the mixed entries its power, of the honest ones its false alarms. A rule has no p-value where
it is a limit on a distance or a count; all others ask that chance does not explain the number, too, and can be
corrected for how many there are."""

SENTENCE_EXPLANATION = """\
An entry's page at the desk opens with one sentence, by a fixed rule from the signs of both tracks. Whoever reads it
alone is right of a memorising or mixed entry if it says that there are copies, and of an honest one if it speaks of no
training images. The share of copies that it says is right if it lies between half of the true one and twice that; of an
honest entry, if it says none."""


def page(
    zoo: Zoo, figures: Sequence[str], explanation: str = "", *, definition: Mapping[str, Any] | None = None
) -> str:
    """The whole page. ``figures`` are names of files in ``figures/zoo``; seeds of another ``definition`` are named."""
    lines = ["# What each kind of evidence sees", "", INTRODUCTION, "", *_sizes(zoo, definition), ""]
    lines += ["## What the networks reached", "", REACHED_EXPLANATION, ""]
    lines += _titled(memorisers_table(zoo)) + _titled(honest_table(zoo)) + _photographs_lines(zoo)
    if zoo.fixing.seeds and zoo.held.seeds:
        lines += _detection_lines(zoo)
    else:
        lines += ["**There are no seeds yet both to fix thresholds on and to judge them on.**", ""]
    lines += [explanation.strip(), ""] if explanation else []
    lines += _titled(medians_table(zoo))
    lines += ["## The paper's figures", ""]
    lines += [line for name in figures for line in (f"![{name.removesuffix('.svg')}](figures/zoo/{name})", "")]
    return "\n".join([*lines, *_machines(zoo)]) + "\n"


def _detection_lines(zoo: Zoo) -> list[str]:
    held = zoo.held
    seeds = {"fixing": _names(zoo.fixing), "held": _names(held)}
    lines = ["## Targets", "", TARGETS_EXPLANATION.format(**seeds), "", *markdown_of(targets_table(held)), ""]
    flagged = [f"- {line}" for line in flagged_lines(held)]
    lines += (
        ["Honest entries that show a sign:", "", *flagged, ""] if flagged else ["No honest entry shows a sign.", ""]
    )
    lines += [discoveries_line(held), ""]
    lines += ["## Told from honest entries", "", AUC_EXPLANATION, ""]
    for track in TRACK_KINDS:
        lines += _titled(auc_table(held, track))
    lines += ["## Beyond a threshold from other seeds", "", THRESHOLD_EXPLANATION.format(**seeds), ""]
    for track in TRACK_KINDS:
        lines += _titled(threshold_table(zoo, track))
    lines += ["### Who misses what", "", *(f"- {sentence}" for sentence in missed_lines(zoo)), ""]
    lines += ["## Found by the service's rules", "", RULES_EXPLANATION, "", *markdown_of(rules_table(held)), ""]
    lines += ["## The power of each sign", "", POWER_EXPLANATION, "", *markdown_of(power_table(held)), ""]
    lines += ["### Mixtures with any sign", "", *markdown_of(mixtures_table(held)), ""]
    return [*lines, "## The sentence at the desk", "", SENTENCE_EXPLANATION, "", *markdown_of(sentence_table(held)), ""]


def _photographs_lines(zoo: Zoo) -> list[str]:
    """What the entry of photographs cannot show."""
    spreads = [(track, photographs_membership(zoo, track)) for track in TRACK_KINDS]
    found = ", ".join(f"{spread.text(2)} on the {track} track" for track, spread in spreads if spread.values)
    return [PHOTOGRAPHS_EXPLANATION.format(found=found), ""] if found else []


def _sizes(zoo: Zoo, definition: Mapping[str, Any] | None) -> list[str]:
    first = zoo.seeds[0]
    counts = first.counts
    missing = [method for method in METHODS if method not in zoo.methods]
    spaces = ", ".join(f"{track} `{first.extractors[track]}`" for track in TRACK_KINDS)
    others = [str(each.seed) for each in zoo.seeds if definition is not None and each.definition != definition]
    return [
        f"**{len(zoo.seeds)} of {len(SEEDS)} seeds have been made.** They have {len(zoo.of(*MEMORISING))} memorising,"
        f" {len(zoo.of(*MIXED))} mixed and {len(zoo.of(*HONEST))} honest entries of {counts['entry']} images of 64 x 64"
        f" pixels (that of photographs: {counts['photographs']}), beside {counts['train']:,} training images,"
        f" {counts['held_out']} held-out ones and, in the private reference only, {counts['private_extra']} more."
        f" Spaces: {spaces}.",
        *([f"\n**Made by another definition than today's: seeds {', '.join(others)}.**"] if others else []),
        *([f"\n**Not measured: {', '.join(missing)}.**"] if missing else []),
    ]


def _names(zoo: Zoo) -> str:
    numbers = [str(each.seed) for each in zoo.seeds]
    return f"seed {numbers[0]}" if len(numbers) == 1 else f"seeds {', '.join(numbers[:-1])} and {numbers[-1]}"


def _titled(table: MarkdownTable) -> list[str]:
    return [f"### {table.title}", "", *markdown_of(table), ""]


def _machines(zoo: Zoo) -> list[str]:
    """When and where each seed was made, and how long its trainings took."""
    lines = []
    for each in zoo.seeds:
        minutes = sum(each.seconds.values()) / 60
        lines.append(
            f"- Seed {each.seed}, {minutes:.0f} minutes of one core for its trainings. {machine_line(each.machine)}"
        )
    return lines
