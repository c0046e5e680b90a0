"""``python -m benchmarks.zoo``: train, score, draw, write ZOO.md. Entries and features are cached between runs."""

import argparse
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from benchmarks.harness.machine import machine
from benchmarks.zoo.cached_extractors import CachedExtractors
from benchmarks.zoo.entries import EntryFeatures, images_of, mixed
from benchmarks.zoo.entry_cache import TRAININGS, EntryCache, Inputs, inputs_of
from benchmarks.zoo.figures import draw
from benchmarks.zoo.outcomes import Outcome, Zoo, read_zoo, write_zoo
from benchmarks.zoo.page import page
from benchmarks.zoo.plan import FULL, ZooPlan
from benchmarks.zoo.spaces import read_entry
from deploy.demo.photographs import bundled_photographs
from scorer.lifecycle import TRACK_KINDS

HERE = Path(__file__).parents[1]
PHOTOGRAPHS_SEED = 2019
NAMES = (*TRAININGS, "photographs")


def entry_features_of(names: Iterable[str], inputs: Inputs, plan: ZooPlan, cache: EntryCache) -> list[EntryFeatures]:
    """The entries of these trainings with their features in every space, from the cache or computed now."""
    extractors = CachedExtractors(plan.spaces, cache)
    entries = [entry for name in names for entry in images_of(name, inputs, plan, cache)]
    return [extractors.compute_features(title, images) for title, images in entries]


def zoo_of(inputs: Inputs, plan: ZooPlan, cache: EntryCache) -> Zoo:
    """All entries of the zoo, scored and tested on both tracks."""
    entries = entry_features_of(NAMES, inputs, plan, cache)
    entries += list(mixed(entries))
    names = dict(zip(TRACK_KINDS, plan.spaces, strict=True))
    cached = CachedExtractors(plan.spaces, cache)
    spaces = {track: cached.space(extractor, inputs, private=track == "private") for track, extractor in names.items()}
    outcomes = [
        Outcome(
            each.title,
            {track: read_entry(each.images, each.features[names[track]], space) for track, space in spaces.items()},
        )
        for each in entries
    ]
    counts = {"train": inputs.train, "held_out": inputs.held_out, "private_extra": inputs.private_extra}
    return Zoo(
        machine=machine() | {"threads": "1"},
        counts={name: len(images) for name, images in counts.items()}
        | {"entry": plan.images, "photographs": len(inputs.photographs)},
        extractors=names,
        fresh={track: space.held_out_distance for track, space in spaces.items()},
        cells={track: space.cells for track, space in spaces.items()},
        outcomes=tuple(outcomes),
    )


def render(folder: Path) -> None:
    """Draw the figures and write the page from the results stored in ``folder / results``."""
    zoo = read_zoo(folder / "results" / "zoo.json")
    explanation = folder / "explanations" / "zoo.md"
    figures = draw(zoo, folder / "figures" / "zoo")
    (folder / "ZOO.md").write_text(page(zoo, figures, explanation.read_text() if explanation.is_file() else ""))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"make and look at these alone: {', '.join(NAMES)}")
    parser.add_argument("--render", action="store_true", help="make nothing: write the page from what is kept")
    parser.add_argument("--kept", type=Path, default=user_cache_path("kennel") / "zoo", help="default: %(default)s")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no training {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if not options.render:
        inputs = inputs_of(bundled_photographs(PHOTOGRAPHS_SEED), FULL)
        cache = EntryCache.at(options.kept, inputs, FULL)
        if options.names:
            entry_features_of(options.names, inputs, FULL, cache)
            return
        write_zoo(zoo_of(inputs, FULL, cache), HERE / "results" / "zoo.json")
    render(HERE)


if __name__ == "__main__":
    main()
