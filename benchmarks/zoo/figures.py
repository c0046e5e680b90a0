"""Figures of the zoo: those of Bai et al. 2021 that separate methods, as the service draws them for a competition."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sqlalchemy.orm import Session

from api.rendering.charts.export import svg_of
from benchmarks.zoo.entries import LABELS
from benchmarks.zoo.outcomes import Outcome, Zoo
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Competition
from scorer.insights.figures import PAIRED, SINGLE, Figure
from scorer.insights.overview import InsightsData, TrackColumns
from scorer.lifecycle import TRACK_KINDS, Phase, TrackKind
from scorer.metrics.mifid import is_penalised, mifid
from scorer.metrics.statistics.threshold_selection import choose_tau
from scorer.submissions.labels import LABELS as LABEL_NUMBERS
from scorer.submissions.labels import MEMORISES

NAME = "The zoo"


def figures_of(zoo: Zoo) -> Iterator[Figure]:
    """FID and memorization distance by label, one against the other, and public against private."""
    taus = {track: tau_of(zoo, track) for track in TRACK_KINDS}
    fields = {track: _field(zoo, track, taus[track]) for track in TRACK_KINDS}
    data = InsightsData(
        CompetitionState(Competition(), Phase.FINAL, {}, ()), fields, taus, labels=True, names=True, label="all"
    )
    for track in TRACK_KINDS:
        for name in ("distances", "fid", "fid-distance"):
            yield SINGLE[name](data, track)
    yield PAIRED["public-private"](Session(), data)


def draw(zoo: Zoo, folder: Path) -> list[str]:
    """Write every figure as an SVG into ``folder`` and return the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for figure in figures_of(zoo):
        names.append(f"zoo-{figure.name}{f'-{figure.track}' if figure.track else ''}.svg")
        (folder / names[-1]).write_text(svg_of(figure, NAME))
    return names


def tau_of(zoo: Zoo, track: TrackKind) -> float:
    """The threshold that `margin` chooses on the entries whose label decides."""
    distances = [each.readings[track].distance for each in zoo.outcomes]
    return choose_tau(distances, [MEMORISES.get(_label(each)) for each in zoo.outcomes]).tau


def _label(outcome: Outcome) -> str:
    return LABELS[outcome.title.method]


def _field(zoo: Zoo, track: TrackKind, tau: float) -> TrackColumns:
    readings = [each.readings[track] for each in zoo.outcomes]
    fid, distance = (np.array([getattr(each, name) for each in readings]) for name in ("fid", "distance"))
    copied = np.array([each.copied for each in readings])
    return TrackColumns(
        refs=np.arange(len(readings), dtype=np.int64),
        labels=np.array([LABEL_NUMBERS.index(_label(each)) for each in zoo.outcomes], dtype=np.int8),
        fid=fid,
        distance=distance,
        score=np.asarray(mifid(fid, distance, tau, copied_share=copied)),
        penalised=np.asarray(is_penalised(distance, tau), dtype=object),
    )
