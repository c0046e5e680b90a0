"""``python -m benchmarks.scale [part ...]``: play the parts that are not stored, write SCALE.md and what follows.

Each part has a process of its own, so that none is played by one whose memory and connections are another's.
"""

import argparse
import logging
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.harness.compiled_modules import keep_compiled_modules
from benchmarks.harness.machine import machine
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, read_result, write_result
from benchmarks.scale import capacity_page, report, thousand
from benchmarks.scale.arrivals import DAYS
from benchmarks.scale.parts import PARTS, play

log = logging.getLogger("benchmarks.scale")
HERE = Path(__file__).parents[1]
NAMES = [*(part.name for part in PARTS), thousand.NAME]
"""Of the stored results."""


def measure(name: str, days: float) -> list[BenchmarkCase]:
    """Play a part's last ``days``, or load the database."""
    part = next((part for part in PARTS if part.name == name), None)
    return thousand.measure(thousand.FULL) if part is None else play(replace(part, played=days))


def render() -> None:
    """Write both pages from what is stored and from the operator's prices."""
    report.render(HERE)
    capacity_page.render(HERE)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}, again; default: all without a stored result"
    )
    parser.add_argument("--days", type=float, default=DAYS, help="play the last so many days alone; default: all")
    parser.add_argument("--render", action="store_true", help="measure nothing: write the pages from what is kept")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    keep_compiled_modules()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    logging.getLogger("benchmarks").setLevel(logging.INFO)
    missing = [name for name in NAMES if read_result(name, HERE / "results") is None]
    names = [] if options.render else options.names or missing
    if len(names) > 1:
        for name in names:
            command = [sys.executable, "-m", __package__, name, "--days", str(options.days)]
            subprocess.run(command, cwd=HERE.parent, check=True)
        return
    for name in names:
        log.info("%s", name)
        write_result(BenchmarkResult(name, machine(), measure(name, options.days)), HERE / "results")
    render()


if __name__ == "__main__":
    main()
