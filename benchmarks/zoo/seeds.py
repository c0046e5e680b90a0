"""Making one seed of the zoo: all trainings, the features of their entries, and scores and evidence on both tracks."""

import logging
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.machine import machine
from benchmarks.zoo.entries import EntryFeatures, Title, ZooPlan, mixed
from benchmarks.zoo.entry_cache import TRAININGS, VERSION, Inputs, trained_entries
from benchmarks.zoo.outcomes import Outcome, SeedResult, TrainingError
from benchmarks.zoo.spaces import Space, prepare_space, read_entry
from benchmarks.zoo.trainings.training import GeneratedImages
from deploy.demo.tiles import Pixels
from scorer.archive import mirror_images
from scorer.extractors import ExtractorOptions, Features, load
from scorer.findings.finding import EVIDENCE_VERSION
from scorer.lifecycle import TRACK_KINDS

log = logging.getLogger(__name__)


def seed_result(seed: int, inputs: Inputs, plan: ZooPlan, *, folder: Path) -> SeedResult:
    measured_with = machine() | {"threads": "1"}  # before any file is written, so the commit is clean
    names = dict(zip(TRACK_KINDS, plan.spaces, strict=True))
    reference, entry = inputs.photographs(plan, seed)
    entries, seconds = _trained(seed, inputs, plan, folder=folder)
    photographs = GeneratedImages("photographs", "held out", inputs.held_out[entry])
    entries.append(with_features(Title("photographs", "held out", seed), photographs, plan.spaces))
    entries += list(mixed(entries))
    spaces = {
        track: reference_space(extractor, inputs, reference, private=track == "private")
        for track, extractor in names.items()
    }
    outcomes = []
    for made in entries:
        log.info("evidence of %s %s, seed %d", *made.title)
        readings = {
            track: read_entry(made.images, made.features[names[track]], space, fewer=plan.photographs)
            for track, space in spaces.items()
        }
        outcomes.append(Outcome(made.title, training_error(made.images, made.originals, inputs.train), readings))
    return SeedResult(
        command=f"python -m benchmarks.zoo --seed {seed}",
        seed=seed,
        definition={"trainings": VERSION, "evidence": EVIDENCE_VERSION, "plan": asdict(plan)},
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
        held_out_distance={track: space.held_out_distance for track, space in spaces.items()},
        cells={track: space.cells for track, space in spaces.items()},
        outcomes=tuple(outcomes),
    )


def _trained(seed: int, inputs: Inputs, plan: ZooPlan, *, folder: Path) -> tuple[list[EntryFeatures], dict[str, float]]:
    """The entries of all trainings of a seed, and each training's processor seconds."""
    entries, seconds = [], {}
    for name in TRAININGS:
        made, seconds[name] = trained_entries(name, seed, inputs, plan=plan, folder=folder)
        entries += [with_features(Title(entry.method, entry.strength, seed), entry, plan.spaces) for entry in made]
    return entries, seconds


def training_error(images: Pixels, originals: NDArray[np.int64] | None, train: Pixels) -> TrainingError | None:
    """The differences of images from the training images with these numbers; None without numbers."""
    if originals is None:
        return None
    differences = images.astype(np.float64) - train[originals]
    return TrainingError(float(np.sqrt(np.square(differences).mean())), float(np.abs(differences).mean()))


@cache
def _extractor(name: str) -> Any:
    return load(name, options=ExtractorOptions(device="cpu", threads=1))


def compute_features(extractor: str, images: Pixels) -> Features:
    """Features (n, d) of images (n, s, s, 3)."""
    features: Features = _extractor(extractor).features(images)
    return features


def with_features(title: Title, entry: GeneratedImages, extractors: Iterable[str]) -> EntryFeatures:
    """The entry with its features in every space."""
    log.info("features of %s %s, seed %d", *title)
    features = {name: compute_features(name, entry.images) for name in set(extractors)}
    return EntryFeatures(title, entry.images, features, entry.originals)


def reference_space(extractor: str, inputs: Inputs, held_out: NDArray[np.int64], *, private: bool) -> Space:
    """A track's prepared reference, with these held-out images. The private one has additional images."""
    training, others = compute_features(extractor, inputs.train), inputs.held_out[held_out]
    extra = [compute_features(extractor, inputs.private_extra)] if private else []
    mirrored, held_out_features = (
        compute_features(extractor, images) for images in (mirror_images(inputs.train), others)
    )
    return prepare_space(
        inputs.train, others, training, mirrored, held_out_features, np.concatenate([training, *extra])
    )
