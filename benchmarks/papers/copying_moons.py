"""``python -m benchmarks.papers.copying_moons``: plot C_T of kernel densities on two moons by bandwidth, beside the
Fréchet distance, the likelihood gap and the other tests of Meehan et al.'s figures.

Writes ``figures/copying_moons.svg`` and the numbers behind it, ``figures/copying_moons.json``.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.harness.line_charts import Chart, Panel, svg_of
from benchmarks.papers.moons import BASELINES, MoonsExperiment, MoonsReading, Spread, crossing

FIGURES = Path(__file__).parents[1] / "figures"
DRAWS = 10  # the paper's
BANDWIDTHS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.065, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0]
FINE = np.geomspace(0.03, 0.4, 80)  # among which the likeliest bandwidth is chosen


def chart_of(readings: list[MoonsReading], likeliest: float, zero: float | None) -> Chart:
    """The figure of these readings."""
    where = "C_T crosses 0 nowhere" if zero is None else f"C_T = 0 at {zero:.2f}"
    marks = [(likeliest, f"likeliest on validation: {likeliest:.2f}")] + ([(zero, where)] if zero else [])
    return Chart(
        title="Data-copying of a kernel density on two moons, by bandwidth",
        description=f"{where}; the bandwidth that validation points find likeliest is {likeliest:.2f}. Below it C_T"
        " falls far under 0 while the Fréchet distance stays as it is.",
        axis=f"bandwidth (mean of {DRAWS} draws of 1,000 points, band: one standard deviation)",
        places=[each.bandwidth for each in readings],
        ticks=[0.001, 0.01, 0.1, 1.0],
        marks=sorted(marks),
        panels=[
            Panel(
                "C_T: below 0 is copying, above 0 underfitting",
                [each.c_t for each in readings],
                [each.c_t_deviation for each in readings],
                [-15, -10, -5, 0, 5, 10],
            ),
            Panel(
                "Fréchet distance to the training points",
                [each.fid for each in readings],
                [each.fid_deviation for each in readings],
                [0, 0.2, 0.4, 0.6],
            ),
            Panel(
                "Log-likelihood of training less validation points, as a power of 10",
                [float(np.log10(each.gap)) for each in readings],
                [0.0 for _ in readings],
                [-3, -2, -1, 0, 1, 2, 3],
            ),
            *(_baseline_panel(title, [each.baselines[name] for each in readings]) for name, title in BASELINES.items()),
        ],
    )


def _baseline_panel(title: str, spreads: list[Spread]) -> Panel:
    ticks = [0, 0.25, 0.5, 0.75, 1]
    return Panel(title, [each.mean for each in spreads], [each.deviation for each in spreads], ticks)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute the readings, write figure and numbers, and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.copying_moons", description=__doc__)
    parser.add_argument(
        "--authors", action="store_true", help="take the authors' scope and variance; write nothing, print"
    )
    options = parser.parse_args(arguments)
    experiment = MoonsExperiment(authors=options.authors)
    readings = [experiment.read(bandwidth, DRAWS) for bandwidth in BANDWIDTHS]
    likeliest = float(FINE[np.argmax([experiment.likelihood(each) for each in FINE])])
    zero = crossing(readings)
    if not options.authors:
        _write(readings, likeliest, zero)
    for each in readings:
        baselines = "  ".join(f"{name} {spread.mean:.3f}" for name, spread in each.baselines.items())
        c_t = f"C_T {each.c_t:7.2f} ± {each.c_t_deviation:.2f}"
        print(f"{each.bandwidth:7.3f}  {c_t}  Z_U {each.overall_z:7.2f}  FID {each.fid:.4f}  {baselines}")
    print(f"C_T is 0 at {zero}; likeliest bandwidth {likeliest}")


def _write(readings: list[MoonsReading], likeliest: float, zero: float | None) -> None:
    FIGURES.mkdir(exist_ok=True)
    (FIGURES / "copying_moons.svg").write_text(svg_of(chart_of(readings, likeliest, zero)))
    result = {"draws": DRAWS, "likeliest": likeliest, "crossing": zero, "readings": [asdict(each) for each in readings]}
    (FIGURES / "copying_moons.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
