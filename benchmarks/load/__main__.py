"""``python -m benchmarks.load [name ...]``: load the real service, store the numbers, write LOAD.md."""

import argparse
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.harness.compiled_modules import keep_compiled_modules
from benchmarks.harness.machine import machine
from benchmarks.harness.report import Section, page, stored_sections
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, write_result
from benchmarks.load import event_streams, held_attacks, last_hour, last_hour_section, reads_beside_uploads, soak

HERE = Path(__file__).parents[1]
PAGE = "LOAD.md"
TITLE = "How Kennel bears load"
INTRODUCTION = """\
Made by `make load`; the numbers behind it are in `results/`. Everything runs over loopback on one machine, the clients
beside the service, each measurement once. Rates are told as shares of what the same run reaches alone and of what the
machine does without the service, because the machine is not always idle."""


class LoadBenchmark(NamedTuple):
    """A benchmark of ``benchmarks.load``: the function that measures, its sizes, and its section of the page."""

    measure: Callable[[Any], list[BenchmarkCase]]
    full: Any
    quick: Any
    section: Callable[[BenchmarkResult], Section]


LOAD_BENCHMARKS = {
    reads_beside_uploads.NAME: LoadBenchmark(
        reads_beside_uploads.measure,
        reads_beside_uploads.FULL,
        reads_beside_uploads.QUICK,
        reads_beside_uploads.section,
    ),
    event_streams.NAME: LoadBenchmark(
        event_streams.measure, event_streams.FULL, event_streams.QUICK, event_streams.section
    ),
    held_attacks.NAME: LoadBenchmark(held_attacks.measure, held_attacks.FULL, held_attacks.QUICK, held_attacks.section),
    last_hour.NAME: LoadBenchmark(last_hour.measure, last_hour.FULL, last_hour.QUICK, last_hour_section.section),
    soak.NAME: LoadBenchmark(soak.measure, soak.FULL, soak.QUICK, soak.section),
}


def run(name: str, size: Any, folder: Path) -> None:
    """Measure one and store its result in ``folder / results``."""
    write_result(BenchmarkResult(name, machine(), LOAD_BENCHMARKS[name].measure(size)), folder / "results")


def render(folder: Path) -> str:
    """Write ``folder / LOAD.md`` from every result stored below ``folder``, and return its text."""
    makers = {name: benchmark.section for name, benchmark in LOAD_BENCHMARKS.items()}
    sections = stored_sections(makers, folder / "results")
    text = page(sections, folder / "explanations", title=TITLE, introduction=INTRODUCTION)
    (folder / PAGE).write_text(text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(LOAD_BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, printed and not kept")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the page from what is kept")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - LOAD_BENCHMARKS.keys()
    if unknown:
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}; there are {', '.join(LOAD_BENCHMARKS)}")
    keep_compiled_modules()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    names = [] if options.render else options.names or list(LOAD_BENCHMARKS)
    if options.quick:
        with TemporaryDirectory() as folder:
            for name in names:
                run(name, LOAD_BENCHMARKS[name].quick, Path(folder))
            print(render(Path(folder)))
        return
    for name in names:
        run(name, LOAD_BENCHMARKS[name].full, HERE)
        render(HERE)
    if options.render:
        render(HERE)


if __name__ == "__main__":
    main()
