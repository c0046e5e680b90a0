"""How a picture of some of an entry's images is laid out. Pure."""

from dataclasses import dataclass

COLUMNS = 10
SHOWN = 100
TILE = 96
"""Pixels a side: larger images are made smaller, so that the picture is about 1 MB whatever a competition asks."""


@dataclass(frozen=True)
class Layout:
    """``count`` images in full rows of ``columns``, each ``tile`` pixels a side."""

    count: int
    columns: int
    tile: int

    @property
    def width(self) -> int:
        """Of the picture, in pixels."""
        return self.columns * self.tile

    @property
    def height(self) -> int:
        """Of the picture, in pixels."""
        return self.count // self.columns * self.tile


def layout_of(count: int, size: int) -> Layout:
    """The layout for an entry of ``count`` images of ``size`` pixels a side."""
    shown = min(SHOWN, count // COLUMNS * COLUMNS) or count
    return Layout(shown, min(COLUMNS, shown), min(size, TILE))
