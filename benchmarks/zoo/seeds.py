"""Making one seed of the zoo: all trainings, the features of their entries, and scores and evidence on both tracks."""

import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.machine import machine
from benchmarks.zoo.cached_extractors import CachedExtractors
from benchmarks.zoo.entries import EntryFeatures, Title, mixed
from benchmarks.zoo.entry_cache import TRAININGS, VERSION, EntryCache, Inputs, trained_entries
from benchmarks.zoo.outcomes import Outcome, SeedResult, TrainingError, definition_of, path_of, read_seed
from benchmarks.zoo.plan import SEEDS, ZooPlan
from benchmarks.zoo.spaces import read_entry
from deploy.demo.tiles import Pixels
from scorer.lifecycle import TRACK_KINDS

log = logging.getLogger(__name__)


def unmade_seeds(plan: ZooPlan, folder: Path) -> list[int]:
    """The seeds of the zoo that have no result in a folder, or one by another definition."""
    current = definition_of(plan, VERSION)
    paths = {seed: path_of(seed, folder) for seed in SEEDS}
    return [seed for seed, path in paths.items() if not path.is_file() or read_seed(path).definition != current]


def entry_features_of(
    names: Iterable[str], seed: int, inputs: Inputs, plan: ZooPlan, cache: EntryCache
) -> tuple[list[EntryFeatures], dict[str, float]]:
    """The entries of these trainings of a seed with their features in every space, from the cache or computed now; and
    the seconds of processor time of each training."""
    extractors = CachedExtractors(plan.spaces, cache)
    features, seconds = [], {}
    for name in names:
        trained = trained_entries(name, seed, inputs, plan, cache)
        seconds[name] = trained.seconds
        features += [
            extractors.compute_features(Title(each.method, each.strength, seed), each) for each in trained.entries
        ]
    return features, seconds


def seed_result(seed: int, inputs: Inputs, plan: ZooPlan, cache: EntryCache) -> SeedResult:
    """All entries of a seed, scored and tested on both tracks."""
    measured_with = machine() | {"threads": "1"}  # before anything is written: a commit with changes is told as such
    entries, seconds = entry_features_of(TRAININGS, seed, inputs, plan, cache)
    reference, entry = inputs.photographs(plan, seed)
    extractors = CachedExtractors(plan.spaces, cache)
    entries.append(extractors.photographs(Title("photographs", "held out", seed), inputs, entry))
    entries += list(mixed(entries))
    names = dict(zip(TRACK_KINDS, plan.spaces, strict=True))
    spaces = {
        track: extractors.space(extractor, inputs, reference, private=track == "private")
        for track, extractor in names.items()
    }
    outcomes = []
    for each in entries:
        log.info("evidence of %s %s, seed %d", *each.title)
        readings = {
            track: read_entry(each.images, each.features[names[track]], space, fewer=plan.photographs)
            for track, space in spaces.items()
        }
        outcomes.append(Outcome(each.title, training_error(each.images, each.originals, inputs.train), readings))
    return SeedResult(
        seed=seed,
        definition=definition_of(plan, VERSION),
        machine=measured_with,
        seconds=seconds,
        counts={
            "train": len(inputs.train),
            "held_out": len(reference),
            "private_extra": len(inputs.private_extra),
            "entry": plan.images,
            "photographs": plan.photographs,
        },
        extractors=names,
        fresh={track: space.held_out_distance for track, space in spaces.items()},
        cells={track: space.cells for track, space in spaces.items()},
        outcomes=tuple(outcomes),
    )


def training_error(images: Pixels, originals: NDArray[np.int64] | None, train: Pixels) -> TrainingError | None:
    """How far images are from the training images of these numbers; None where there are no numbers."""
    if originals is None:
        return None
    differences = images.astype(np.float64) - train[originals]
    return TrainingError(float(np.sqrt(np.square(differences).mean())), float(np.abs(differences).mean()))
