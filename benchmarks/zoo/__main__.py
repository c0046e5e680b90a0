"""``python -m benchmarks.zoo``: train, score, draw, write ZOO.md. What was made before is not made again."""

import argparse
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from platformdirs import user_cache_path

from benchmarks.harness.machine import machine
from benchmarks.zoo.making import TRAININGS, EntryCache, Inputs, inputs_of
from benchmarks.zoo.outcomes import TRACKS, Outcome, Zoo, read_zoo, write_zoo
from benchmarks.zoo.page import page
from benchmarks.zoo.pictures import draw
from benchmarks.zoo.plan import FULL, ZooPlan
from benchmarks.zoo.roster import EntryFeatures, images_of, mixed
from benchmarks.zoo.seeing import CachedExtractors
from benchmarks.zoo.spaces import read_entry
from deploy.demo.photographs import bundled_photographs

HERE = Path(__file__).parents[1]
PHOTOGRAPHS_SEED = 2019
NAMES = (*TRAININGS, "photographs")


def entry_features_of(names: Iterable[str], inputs: Inputs, plan: ZooPlan, kept: EntryCache) -> list[EntryFeatures]:
    """Make the entries of these trainings, where they are not kept, and look at them in every space."""
    eyes = CachedExtractors(plan.spaces, kept)
    entries = [entry for name in names for entry in images_of(name, inputs, plan, kept)]
    return [eyes.see(title, images) for title, images in entries]


def zoo_of(inputs: Inputs, plan: ZooPlan, kept: EntryCache) -> Zoo:
    """Everything, measured."""
    seen = entry_features_of(NAMES, inputs, plan, kept)
    seen += list(mixed(seen))
    extractors, eyes = dict(zip(TRACKS, plan.spaces, strict=True)), CachedExtractors(plan.spaces, kept)
    spaces = {
        track: eyes.space(extractor, inputs, private=track == "private") for track, extractor in extractors.items()
    }
    outcomes = [
        Outcome(
            each.title,
            {
                track: read_entry(each.images, each.features[extractors[track]], space)
                for track, space in spaces.items()
            },
        )
        for each in seen
    ]
    counts = {"train": inputs.train, "held_out": inputs.held_out, "private_extra": inputs.private_extra}
    return Zoo(
        machine=machine() | {"threads": "1"},
        counts={name: len(images) for name, images in counts.items()}
        | {"entry": plan.images, "photographs": len(inputs.handed_in)},
        extractors=extractors,
        fresh={track: space.fresh_distance for track, space in spaces.items()},
        cells={track: space.cells for track, space in spaces.items()},
        outcomes=tuple(outcomes),
    )


def render(folder: Path) -> None:
    """Draw the figures and write the page from what is kept in ``folder / results``."""
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
    given = parser.parse_args(arguments)
    unknown = set(given.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no training {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if not given.render:
        inputs = inputs_of(bundled_photographs(PHOTOGRAPHS_SEED), FULL)
        kept = EntryCache.at(given.kept, inputs, FULL)
        if given.names:
            entry_features_of(given.names, inputs, FULL, kept)
            return
        write_zoo(zoo_of(inputs, FULL, kept), HERE / "results" / "zoo.json")
    render(HERE)


if __name__ == "__main__":
    main()
