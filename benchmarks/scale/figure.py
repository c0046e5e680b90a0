"""The figure of SCALE.md: entries and longest waits over the hours before the close, whose last ones are the widest."""

from collections.abc import Mapping, Sequence
from math import ceil, log10

from benchmarks.harness.isolation import Run
from benchmarks.harness.line_charts import Chart, Panel, svg_of
from benchmarks.scale.arrivals import DAY
from benchmarks.scale.measured import BINS, HOURS, hours_before

TICKS = (1440, 720, 240, 72, 24, 6, 1)


def svg(runs: Mapping[str, Run], days: float) -> str:
    """The figure of these runs by their titles, all of the same arrivals of so many ``days``."""
    edges = hours_before(days * DAY)
    return _svg(runs, [f"bin{place:02}" for place in range(BINS)], list(edges[:-1]), list(edges[:-1] - edges[1:]))


def svg_of_last_hours(runs: Mapping[str, Run], hours: int) -> str:
    """The figure of the last so many ``hours`` alone, at most 24, which all these runs have played."""
    names = [f"hour{place:02}" for place in range(HOURS - hours, HOURS)]
    return _svg(runs, names, [float(hour) for hour in range(hours, 0, -1)], [1.0] * hours)


def _svg(runs: Mapping[str, Run], names: Sequence[str], places: Sequence[float], widths: Sequence[float]) -> str:
    """The figure of the intervals of these ``names``, which begin so many hours before the close and last so long."""
    first = next(iter(runs.values()))
    rates = [first[f"{name}_entries"] / width for name, width in zip(names, widths, strict=True)]
    panels = [_panel("Entries an hour", rates)]
    for title, run in runs.items():
        panels.append(_panel(f"{title}: longest wait, minutes", [run[f"{name}_longest"] / 60 for name in names]))
    chart = Chart(
        title="Entries and waits of a competition of 2019's shape",
        description="Entries an hour, and the longest wait for a public score, over the hours before the close",
        axis="hours before the close",
        places=places,
        ticks=[tick for tick in TICKS if tick <= places[0]],
        marks=[(24.0, "the last day")] if places[0] > 24 else [],
        panels=panels,
    )
    return svg_of(chart)


def _panel(title: str, values: list[float]) -> Panel:
    return Panel(title, values, [0.0] * len(values), _ticks(max(values)))


def _ticks(largest: float) -> list[float]:
    """Zero, and one or two round numbers up to the first that is no less than the largest value."""
    if largest <= 0:
        return [0.0, 1.0]
    unit = 10 ** int(log10(largest) - (largest < 1))
    step = next(step for step in (0.5 * unit, unit, 2.5 * unit, 5 * unit) if 2 * step >= largest)
    return [number * step for number in range(ceil(largest / step) + 1)]
