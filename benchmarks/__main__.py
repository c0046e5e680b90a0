"""``python -m benchmarks [name ...]``: measure, store the numbers, write RESULTS.md and what is computed from them."""

import argparse
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.gpu import host_stages, roofline
from benchmarks.harness.compiled_modules import keep_compiled_modules
from benchmarks.harness.isolation import Runner, run_apart
from benchmarks.harness.machine import machine
from benchmarks.harness.plan import FULL, QUICK, BenchmarkPlan
from benchmarks.harness.report import Section, page, stored_sections
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, write_result
from benchmarks.scale import capacity_page
from benchmarks.speed import (
    busy_core,
    evidence,
    frechet,
    neighbours,
    queue,
    references,
    releases,
    scoring,
    shared_images,
    standings,
    tracks,
)

HERE = Path(__file__).parent


class SpeedBenchmark(NamedTuple):
    """A benchmark of ``benchmarks.speed``: the function that measures, and its section of the page."""

    measure: Callable[[BenchmarkPlan, Path, Runner], list[BenchmarkCase]]
    section: Callable[[BenchmarkResult], Section]


SPEED_BENCHMARKS = {
    module.NAME: SpeedBenchmark(module.measure, module.section)
    for module in (
        *(scoring, frechet, neighbours, tracks, references, standings, queue, evidence, shared_images, releases),
        *(busy_core, host_stages),
    )
}


def run(names: Sequence[str], plan: BenchmarkPlan, folder: Path, runner: Runner = run_apart) -> None:
    """Measure those named and store each result in ``folder / results`` as soon as it is complete."""
    measured_with = machine()  # before anything is written: a commit with changes is told as such
    for name in names:
        with TemporaryDirectory(prefix="kennel-bench-") as scratch:
            cases = SPEED_BENCHMARKS[name].measure(plan, Path(scratch), runner)
        write_result(BenchmarkResult(name, measured_with, cases), folder / "results")


def render(folder: Path) -> str:
    """Write ``folder / RESULTS.md`` from every result stored below ``folder``, and return its text."""
    makers = {name: benchmark.section for name, benchmark in SPEED_BENCHMARKS.items()}
    text = page(stored_sections(makers, folder / "results"), folder / "explanations")
    (folder / "RESULTS.md").write_text(text)
    return text


def render_all() -> None:
    """Write every page that these measurements have a part in: RESULTS.md, GPU.md, the page on capacity."""
    render(HERE)
    roofline.render()
    capacity_page.render(HERE)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(SPEED_BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, printed and not kept")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the pages from what is kept")
    parser.add_argument("--rounds", type=int, help=f"default: {FULL.rounds}")
    parser.add_argument("--scored", type=int, help=f"images of the scoring benchmark; default: {FULL.scored}")
    parser.add_argument("--images", type=int, nargs="+", help=f"of the tracks benchmark; default: {FULL.images}")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - SPEED_BENCHMARKS.keys()
    if unknown:
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}; there are {', '.join(SPEED_BENCHMARKS)}")
    keep_compiled_modules()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    plan = _plan(options)
    names = options.names or list(SPEED_BENCHMARKS)
    if options.render:
        render_all()
    elif options.quick:
        with TemporaryDirectory() as folder:
            run(names, plan, Path(folder))
            print(render(Path(folder)))
    else:
        run(names, plan, HERE)
        render_all()


def _plan(options: argparse.Namespace) -> BenchmarkPlan:
    overrides = {
        "rounds": options.rounds,
        "scored": options.scored,
        "images": tuple(options.images) if options.images else None,
    }
    return replace(
        QUICK if options.quick else FULL, **{name: value for name, value in overrides.items() if value is not None}
    )


if __name__ == "__main__":
    main()
