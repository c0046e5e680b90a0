"""Exports insight figures as self-contained SVG and as CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from api.rendering.charts.insight_figures import FigureChart, build_figure_chart
from api.rendering.templates import STATIC_FILES, render
from kennel_client.cli.formatting import escape_formula
from scorer.errors import NotFound
from scorer.insights.figures import Figure, Transaction

WIDTH, LEFT, LEGEND, LEADING = 740.0, 26.0, 54.0, 20.0
LETTER = 7.2
"""Approximate width of a letter of the legend, in pixels."""


def render_svg(figure: Figure, competition: str) -> str:
    """A figure as an SVG file; ``NotFound`` if it has no rows."""
    drawing = build_figure_chart(figure)
    if drawing is None:
        raise NotFound("nothing-to-draw", "There is nothing to draw yet.")
    style = STATIC_FILES["charts.css"].decode()
    legend = _legend(drawing)
    top = LEADING + (legend[-1][-1] if legend else LEGEND - LEADING)
    return render(
        "rendering/charts/figure.svg", drawing=drawing, competition=competition, style=style, legend=legend, top=top
    )


def _legend(drawing: FigureChart) -> list[tuple[str, str, float, float]]:
    """(kind, text, x, y) with positions in pixels; a long legend continues on further lines."""
    x = LEFT
    y = LEGEND
    placed = []
    for kind, words, count in drawing.legend:
        text = f"{words} {count:,}"
        width = 30 + LETTER * len(text)
        if x + width > WIDTH:
            x = LEFT
            y = y + LEADING
        placed.append((kind, text, round(x, 1), y))
        x += width
    return placed


def stream_figure_csv(figure: Figure, begin: Transaction) -> Iterator[bytes]:
    yield render_rows_csv([figure.columns])
    for rows in figure.rows(begin):
        yield render_rows_csv(rows)


def render_rows_csv(rows: Sequence[Sequence[Any]]) -> bytes:
    """Rows as CSV, with formulas escaped for spreadsheets."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerows([escape_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return file.getvalue().encode()
