"""The text of each part of ZOO.md, from the stored results."""

from collections.abc import Mapping

from benchmarks.harness.report import machine_line
from benchmarks.zoo import tables
from benchmarks.zoo.entries import HONEST, MEMORISING, METHODS, MIXED, SEEDS
from benchmarks.zoo.outcomes import Zoo
from benchmarks.zoo.targets import photographs_membership
from scorer.lifecycle import TRACK_KINDS


def parts(zoo: Zoo) -> Mapping[str, str]:
    flagged = "\n".join(f"- {line}" for line in tables.flagged_lines(zoo.held))
    spreads = {track: spread for track in TRACK_KINDS if (spread := photographs_membership(zoo, track)).values}
    membership = ", ".join(f"{spread.text(2)} on the {track} track" for track, spread in spreads.items())
    return {
        "sizes": _sizes(zoo),
        "reached": f"{tables.memorisers_table(zoo)}\n\n{tables.honest_table(zoo)}",
        "photographs": f"AUC of membership inference of the photographs: {membership}.",
        "targets": str(tables.targets_table(zoo.held)),
        "flagged": flagged or "None.",
        "auc": "\n\n".join(str(tables.auc_table(zoo.held, track)) for track in TRACK_KINDS),
        "rules": str(tables.rules_table(zoo.held)),
        "mixtures": str(tables.mixtures_table(zoo.held)),
        "sentence": str(tables.sentence_table(zoo.held)),
        "medians": str(tables.medians_table(zoo)),
        "machines": _machines(zoo),
    }


def _sizes(zoo: Zoo) -> str:
    first = zoo.seeds[0]
    counts = first.counts
    missing = [method for method in METHODS if method not in zoo.methods]
    spaces = ", ".join(f"{track} `{first.extractors[track]}`" for track in TRACK_KINDS)
    unmeasured = f" **Not measured: {', '.join(missing)}.**" if missing else ""
    return (
        f"**{len(zoo.seeds)} of {len(SEEDS)} seeds have been measured.** They contain {len(zoo.of(*MEMORISING))}"
        f" memorising, {len(zoo.of(*MIXED))} mixed and {len(zoo.of(*HONEST))} honest entries of {counts['entry']}"
        f" images of 64 x 64 pixels (the entry of photographs: {counts['photographs']}). There are"
        f" {counts['train']:,} training images, {counts['held_out']} held-out images,"
        f" and {counts['private_extra']} more images in the private reference only. Spaces: {spaces}.{unmeasured}"
    )


def _machines(zoo: Zoo) -> str:
    """Machine and training time of each seed."""
    return "\n".join(
        f"- Seed {seed.seed}, {sum(seed.seconds.values()) / 60:.0f} minutes of training on one core."
        f" {machine_line(seed.machine, seed.command)}"
        for seed in zoo.seeds
    )
