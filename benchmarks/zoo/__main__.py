"""``python -m benchmarks.zoo``: make the seeds of the zoo that have no result, and write ZOO.md.

Trained entries are cached between runs.
"""

import argparse
import logging
from collections.abc import Sequence

from platformdirs import user_cache_path

from benchmarks.harness.report import write_page
from benchmarks.harness.results import HERE, RESULTS
from benchmarks.zoo.entries import FULL, SEEDS
from benchmarks.zoo.entry_cache import Inputs
from benchmarks.zoo.outcomes import build_result_path, read_zoo, write_seed
from benchmarks.zoo.page import parts
from benchmarks.zoo.seeds import seed_result
from deploy.demo.photographs import bundled_photographs

PHOTOGRAPHS_SEED = 2019


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("--seed", type=int, choices=SEEDS, help="make this seed, even if it is stored")
    parser.add_argument("--render", action="store_true", help="write the page from stored results without making seeds")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    missing = [seed for seed in SEEDS if not build_result_path(seed, RESULTS).is_file()]
    seeds = [] if options.render else missing if options.seed is None else [options.seed]
    if seeds:
        photographs = bundled_photographs(PHOTOGRAPHS_SEED)
        parts_used = (photographs.train, photographs.held_out, photographs.private_extra)
        inputs = Inputs(*(part.images for part in parts_used))
    for seed in seeds:
        write_seed(seed_result(seed, inputs, FULL, folder=user_cache_path("kennel") / "zoo"), RESULTS)
    write_page(HERE / "ZOO.md", parts(read_zoo(RESULTS)))


if __name__ == "__main__":
    main()
