"""Line charts over a logarithmic axis, as one SVG that follows the viewer's light or dark setting."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 190, 62, 16, 34, 30
STYLE = """\
svg{background:#fff;font:13px system-ui,sans-serif}text{fill:#222}.dim{fill:#666}.grid{stroke:#e3e3e3}.axis{stroke:#888}
.line{fill:none;stroke:#1f5fbf;stroke-width:2}.band{fill:#1f5fbf;opacity:.18}.mark{stroke:#b3541e;stroke-dasharray:5 4}
.marked{fill:#b3541e}
@media (prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e6e6e6}.dim{fill:#a0a0a0}.grid{stroke:#33363c}
.line{stroke:#7fb2ff}.band{fill:#7fb2ff}.mark{stroke:#f0a070}.marked{fill:#f0a070}}"""


@dataclass(frozen=True)
class Panel:
    """One quantity: its values, the half-width of a band around them, and the ticks of its axis."""

    title: str
    values: Sequence[float]
    band: Sequence[float]
    ticks: Sequence[float]

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that is drawn."""
        ends = [value + sign * half for value, half in zip(self.values, self.band, strict=True) for sign in (-1, 1)]
        return min(*ends, *self.ticks), max(*ends, *self.ticks)


@dataclass(frozen=True)
class Chart:
    """Panels over one horizontal axis. ``marks`` are vertical lines with their labels."""

    title: str
    description: str
    axis: str
    places: Sequence[float]
    ticks: Sequence[float]
    marks: Sequence[tuple[float, str]]
    panels: Sequence[Panel]


def svg_of(chart: Chart) -> str:
    """The chart as an SVG file."""
    tall = HEIGHT * len(chart.panels) + 26
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" role="img" aria-labelledby="t d">'
    parts = [
        head,
        f'<title id="t">{escape(chart.title)}</title><desc id="d">{escape(chart.description)}</desc>',
        f"<style>{STYLE}</style>",
        *(part for number, panel in enumerate(chart.panels) for part in _panel(chart, panel, number * HEIGHT)),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{tall - 8}" text-anchor="middle">{escape(chart.axis)}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True)
class _Frame:
    """Coordinates of one panel: from values to places in the SVG."""

    chart: Chart
    panel: Panel
    top: float

    @property
    def ceiling(self) -> float:
        return self.top + TOP

    @property
    def floor(self) -> float:
        return self.top + HEIGHT - BOTTOM

    def x(self, place: float) -> float:
        first, last = log10(self.chart.places[0]), log10(self.chart.places[-1])
        return round(LEFT + (log10(place) - first) / (last - first) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        low, high = self.panel.range
        return round(self.floor - (value - low) / (high - low) * (self.floor - self.ceiling), 1)

    def line(self, sign: int = 0) -> list[tuple[float, float]]:
        """The values, or an edge of their band."""
        rows = zip(self.chart.places, self.panel.values, self.panel.band, strict=True)
        return [(self.x(place), self.y(value + sign * half)) for place, value, half in rows]


def _panel(chart: Chart, panel: Panel, top: float) -> list[str]:
    frame = _Frame(chart, panel, top)
    return [
        f'<text x="{LEFT}" y="{top + 20}" font-weight="600">{escape(panel.title)}</text>',
        *_scales(frame),
        *_marks(frame),
        f'<polygon class="band" points="{_joined(frame.line(1) + frame.line(-1)[::-1])}"/>',
        f'<polyline class="line" points="{_joined(frame.line())}"/>',
    ]


def _scales(frame: _Frame) -> list[str]:
    parts = []
    for tick in frame.panel.ticks:
        kind = "axis" if tick == 0 else "grid"
        y = frame.y(tick)
        parts += [f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>']
        parts += [f'<text class="dim" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{_number(tick)}</text>']
    for tick in frame.chart.ticks:
        x = frame.x(tick)
        y = frame.floor + 18
        parts += [f'<text class="dim" x="{x}" y="{y}" text-anchor="middle">{tick:g}</text>']
    return parts


def _marks(frame: _Frame) -> list[str]:
    """Vertical lines, labelled in the first panel only; the first label is to the left of its line."""
    parts = []
    for number, (place, label) in enumerate(frame.chart.marks):
        x = frame.x(place)
        side = "start" if number else "end"
        shift = 6 if number else -6
        parts += [f'<line class="mark" x1="{x}" x2="{x}" y1="{frame.ceiling}" y2="{frame.floor}"/>']
        if frame.top == 0:
            attributes = f'x="{x + shift}" y="{frame.ceiling + 12}" text-anchor="{side}"'
            parts += [f'<text class="marked" {attributes}>{escape(label)}</text>']
    return parts


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)
