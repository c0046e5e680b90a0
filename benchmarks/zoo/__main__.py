"""``python -m benchmarks.zoo``: make the seeds of the zoo that are missing, draw, write ZOO.md. A training that was cut
off goes on; entries and features are cached between runs."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from benchmarks.zoo.entry_cache import TRAININGS, VERSION, EntryCache, inputs_of
from benchmarks.zoo.figures import draw
from benchmarks.zoo.outcomes import definition_of, read_zoo, write_seed
from benchmarks.zoo.page import page
from benchmarks.zoo.plan import FULL, SEEDS
from benchmarks.zoo.seeds import entry_features_of, seed_result, unmade_seeds
from deploy.demo.photographs import bundled_photographs

log = logging.getLogger(__name__)

HERE = Path(__file__).parents[1]
PHOTOGRAPHS_SEED = 2019


def render(folder: Path) -> None:
    """Draw the figures and write the page from the results stored in ``folder / results``; ``LookupError`` if there
    are none."""
    zoo = read_zoo(folder / "results")
    if not zoo.seeds:
        raise LookupError("no seed was made: make zoo")
    explanation = folder / "explanations" / "zoo.md"
    figures = draw(zoo, folder / "figures" / "zoo")
    words = explanation.read_text() if explanation.is_file() else ""
    (folder / "ZOO.md").write_text(page(zoo, figures, words, definition=definition_of(FULL, VERSION)))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"train these alone: {', '.join(TRAININGS)}")
    parser.add_argument(
        "--seed", type=int, action="append", choices=SEEDS, metavar="N", help="make this seed, once more if it is there"
    )
    parser.add_argument("--render", action="store_true", help="make nothing: write the page from what is kept")
    parser.add_argument("--kept", type=Path, default=user_cache_path("kennel") / "zoo", help="default: %(default)s")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - TRAININGS.keys()
    if unknown:
        parser.error(f"there is no training {', '.join(sorted(unknown))}; there are {', '.join(TRAININGS)}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    seeds = [] if options.render else options.seed or unmade_seeds(FULL, HERE / "results")
    if seeds:
        inputs = inputs_of(bundled_photographs(PHOTOGRAPHS_SEED))
        cache = EntryCache.at(options.kept, inputs, FULL)
        for seed in seeds:
            if options.names:
                _, seconds = entry_features_of(options.names, seed, inputs, FULL, cache)
                log.info("seed %d: %s", seed, {name: f"{each:.0f} s" for name, each in seconds.items()})
                continue
            write_seed(seed_result(seed, inputs, FULL, cache), HERE / "results")
            render(HERE)
    if not options.names:
        render(HERE)


if __name__ == "__main__":
    main()
