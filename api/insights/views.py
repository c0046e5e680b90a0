"""Schemas of figures, the gallery and shared submissions."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field
from pydantic_core import to_json

from api.http.views import Page, RecordView
from api.rendering.charts.captions import TITLES, build_sentence, build_title, shown_track_title
from scorer.competitions.shown_tracks import NAME
from scorer.insights.figures import PAIRED, Figure, Transaction
from scorer.insights.gallery import GalleryEntry
from scorer.lifecycle import TRACK_KINDS, TrackKind


class FigureLink(BaseModel):
    """A figure that you can see, and the URL of its data."""

    figure: str
    title: str
    tracks: list[TrackKind] = Field(description="The tracks that the figure can show; empty if it compares both.")
    shown: str | None = Field(None, description="The shown track of the figure, if it has one.")
    data: str

    @classmethod
    def of(cls, slug: str, name: str, *, everything: bool, shown: str | None = None) -> Self:
        visible = TRACK_KINDS if everything else TRACK_KINDS[:1]
        title = TITLES[name] if shown is None else shown_track_title(shown)
        data = f"/api/v1/competitions/{slug}/insights/{name}" + (f"?shown={shown}" if shown else "")
        return cls(figure=name, title=title, tracks=[] if name in PAIRED else list(visible), shown=shown, data=data)


class FigurePage(Page):
    figures: list[FigureLink]


class FigureView(BaseModel):
    """A figure as data: columns, rows and statistics."""

    competition: str
    figure: str
    title: str
    told: str = Field(description="The statistics as sentences.")
    track: TrackKind | None
    label: str
    shown: str | None = Field(description="The shown track of the figure, if it has one.")
    tau: float | None
    statistics: dict[str, Any]
    groups: list[dict[str, Any]] = Field(
        description="The count of each label, and the mean, standard deviation and quantiles of the first value."
    )
    columns: list[str]
    rows: list[list[Any]]

    @classmethod
    def build_json_head(cls, slug: str, figure: Figure) -> bytes:
        """The beginning of a figure's JSON: everything except the last field, its rows."""
        fields = {name: getattr(figure, name) for name in ("track", "label", "shown", "tau", "columns")}
        words = {"title": build_title(figure), "told": build_sentence(figure)}
        view = cls(competition=slug, figure=figure.name, rows=[], **fields, **figure.summary._asdict(), **words)
        return view.model_dump_json().removesuffix("]}").encode()

    @classmethod
    def stream_json(cls, head: bytes, figure: Figure, begin: Transaction) -> Iterator[bytes]:
        """A figure's JSON in chunks, because it may have a million rows. ``head`` is from :meth:`build_json_head`."""
        yield head
        for number, rows in enumerate(figure.rows(begin)):
            yield (b"," if number else b"") + to_json(rows)[1:-1]
        yield b"]}"


class ExhibitView(RecordView):
    """A submission at a rank of the board, with some of its images."""

    rank: int
    team: str
    submission_id: str
    score: float
    images: str | None = Field(description="The URL of 10 of its images side by side. Null without stored images.")

    @classmethod
    def from_entry(cls, slug: str, entry: GalleryEntry, seed: int) -> Self:
        submission = entry.submission
        path = f"/api/v1/competitions/{slug}/gallery/{submission.id}?seed={seed}"
        return cls.of(entry, submission_id=submission.id, images=path if submission.sprite_key else None)


class ExhibitPage(Page):
    entries: list[ExhibitView]


class TwinView(RecordView):
    """One of several submissions with the same contents."""

    id: str
    ref: int
    team: str
    status: str
    accepted_at: datetime


class TwinsView(RecordView):
    """Submissions of different teams that have the same zip, or the same images under any file names."""

    same: Literal["zip", "images"]
    entries: list[TwinView]


class TwinsPage(Page):
    twins: list[TwinsView]


ShownName = Annotated[
    str, Field(pattern=f"^({NAME.pattern})?$", description="The name of a shown track, for the figure `shown-track`.")
]
Seed = Annotated[int, Query(ge=0, le=2**31, description="The seed for choosing images at random.")]


LabelChoice = Literal[
    "all", "labelled", "memorising", "legitimate", "mgan", "sup", "ae", "aug", "other", "unlabelled"
]  # fmt: skip
