"""``python -m benchmarks NAME ...``: run benchmarks, store the results and write their pages.

A name is that of a benchmark or a group. Each benchmark runs in a separate process.
"""

import argparse
import importlib
import logging
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.harness.isolation import ROOT, Runner, run_apart
from benchmarks.harness.machine import machine
from benchmarks.harness.report import MAIN, results_text, write_page
from benchmarks.harness.results import HERE, RESULTS, BenchmarkResult, read_results, write_result


class Benchmark(NamedTuple):
    """A module with ``measure(size, folder, run)`` and the sizes ``FULL`` and ``QUICK``.

    It also has either ``findings(result)``, for ``part`` of its page, or ``parts()``, the text of each part.
    """

    module: str
    page: str
    full: str = "FULL"
    part: str = MAIN

    def load(self) -> Any:
        return importlib.import_module(f"benchmarks.{self.module}")


def _benchmarks_in(package: str, *names: str) -> dict[str, Benchmark]:
    return {name: Benchmark(f"{package}.{name}", name.upper()) for name in names}


GROUPS: Mapping[str, Mapping[str, Benchmark]] = {
    "speed": _benchmarks_in(
        "speed",
        *("scoring", "frechet", "neighbours", "tracks", "references", "standings", "queue", "evidence"),
        *("shared_images", "releases", "busy_core", "drawing", "host_stages", "commands", "everyday"),
    ),
    "load": _benchmarks_in(
        "load", "reads_beside_uploads", "event_streams", "held_attacks", "last_hour", "soak", "start"
    ),
    "scale": {f"scale_cpu_{workers}": Benchmark("scale.parts", "SCALE", f"CPU_{workers}") for workers in (1, 4, 16, 64)}
    | _benchmarks_in("scale", "thousand"),
    "papers": {
        "interval_coverage": Benchmark("papers.interval_coverage", "COVERAGE"),
        "draw_coverage": Benchmark("papers.draw_coverage", "DRAWS"),
        "picked_images": Benchmark("papers.picked_images", "PICKED", part="zips"),
        "picked_generators": Benchmark("papers.picked_generators", "PICKED", part="generators"),
        "copying_moons": Benchmark("papers.copying_moons", "COPYING_MOONS"),
        "recovery_experiment": Benchmark("papers.recovery_experiment", "RECOVERY"),
    },
    "support_size": {
        f"support_size_{part}": Benchmark("papers.support_size", "SUPPORT_SIZE", size)
        for part, size in (
            *((images, f"TABLES_{images}") for images in (256, 1000, 4000, 10_000)),
            *((name, name.upper()) for name in ("honest", "whole", "other")),
        )
    },
}
BENCHMARKS = {name: benchmark for group in GROUPS.values() for name, benchmark in group.items()}


def measure(name: str, size: str, folder: Path = RESULTS, *, run: Runner = run_apart) -> BenchmarkResult:
    """Run one benchmark and store its result. ``size`` is the name of one of the module's sizes."""
    module, measured_with = BENCHMARKS[name].load(), machine()
    with TemporaryDirectory(prefix="kennel-bench-") as scratch:
        measured = module.measure(getattr(module, size), Path(scratch), run)
    result = BenchmarkResult(name, f"python -m benchmarks {name}", measured_with, measured)
    write_result(result, folder)
    return result


def render_parts(name: str) -> Mapping[str, str]:
    """The text of each part of a benchmark's page, from the stored results."""
    module = BENCHMARKS[name].load()
    if hasattr(module, "parts"):
        parts: Mapping[str, str] = module.parts()
        return parts
    page = BENCHMARKS[name].page
    return {one.part: _part_text(other) for other, one in BENCHMARKS.items() if one.page == page}


def _part_text(name: str) -> str:
    module = BENCHMARKS[name].load()
    return results_text([(result, module.findings(result)) for result in read_results(name)])


def build_page_path(name: str) -> Path:
    return HERE / f"{BENCHMARKS[name].page}.md"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*GROUPS, *BENCHMARKS]
    parser.add_argument("names", nargs="+", metavar="NAME", choices=names, help=f"one of {', '.join(names)}")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--quick", action="store_true", help="measure tiny sizes, print the result and store nothing")
    kinds.add_argument("--render", action="store_true", help="write the pages from stored results without measuring")
    options = parser.parse_args(arguments)
    chosen = [benchmark for name in options.names for benchmark in GROUPS.get(name, [name])]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    # A new process reads each upload. Without stored bytecode it would compile every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in chosen:
        if len(chosen) > 1 and not options.render:
            flags = ["--quick"] if options.quick else []
            subprocess.run([sys.executable, "-m", "benchmarks", name, *flags], cwd=ROOT, check=True)
        elif options.quick:
            with TemporaryDirectory() as folder:
                print(measure(name, "QUICK", Path(folder)).measured)
        else:
            if not options.render:
                measure(name, BENCHMARKS[name].full)
            write_page(build_page_path(name), render_parts(name))


if __name__ == "__main__":
    main()
