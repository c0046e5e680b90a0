"""``python -m benchmarks [name ...]``: measure, keep the numbers, write the page."""

import argparse
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.harness.isolation import Runner, run_apart
from benchmarks.harness.machine import machine
from benchmarks.harness.plan import FULL, QUICK, Plan
from benchmarks.harness.report import Section, page
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, read_result, write_result
from benchmarks.speed import evidence, frechet, neighbours, provisional, references, scoring, standings, tracks

HERE = Path(__file__).parent


class Measurement(NamedTuple):
    """One module: how to measure, and how to tell of it."""

    measure: Callable[[Plan, Path, Runner], list[BenchmarkCase]]
    section: Callable[[BenchmarkResult], Section]


MEASUREMENTS = {
    module.NAME: Measurement(module.measure, module.section)
    for module in (scoring, frechet, neighbours, tracks, references, provisional, standings, evidence)
}


def run(names: Sequence[str], plan: Plan, folder: Path, runner: Runner = run_apart) -> None:
    """Measure those named and keep each result in ``folder / results`` as soon as it is there."""
    for name in names:
        with TemporaryDirectory(prefix="kennel-bench-") as scratch:
            cases = MEASUREMENTS[name].measure(plan, Path(scratch), runner)
        write_result(BenchmarkResult(name, machine(), cases), folder / "results")


def render(folder: Path) -> str:
    """Write ``folder / RESULTS.md`` from every result that is kept there, and return it."""
    kept = [(each, read_result(name, folder / "results")) for name, each in MEASUREMENTS.items()]
    sections = [(result, each.section(result)) for each, result in kept if result is not None]
    text = page(sections, folder / "explanations")
    (folder / "RESULTS.md").write_text(text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(MEASUREMENTS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, printed and not kept")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the page from what is kept")
    parser.add_argument("--rounds", type=int, help=f"default: {FULL.rounds}")
    parser.add_argument("--scored", type=int, help=f"images of the scoring benchmark; default: {FULL.scored}")
    parser.add_argument("--images", type=int, nargs="+", help=f"of the tracks benchmark; default: {FULL.images}")
    given = parser.parse_args(arguments)
    unknown = set(given.names) - MEASUREMENTS.keys()
    if unknown:
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}; there are {', '.join(MEASUREMENTS)}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    plan, names = _plan(given), given.names or list(MEASUREMENTS)
    if given.render:
        render(HERE)
    elif given.quick:
        with TemporaryDirectory() as folder:
            run(names, plan, Path(folder))
            print(render(Path(folder)))
    else:
        run(names, plan, HERE)
        render(HERE)


def _plan(given: argparse.Namespace) -> Plan:
    chosen = {
        "rounds": given.rounds,
        "scored": given.scored,
        "images": tuple(given.images) if given.images else None,
    }
    return replace(
        QUICK if given.quick else FULL, **{name: value for name, value in chosen.items() if value is not None}
    )


if __name__ == "__main__":
    main()
