"""The insight figure of a shown track: does it order the entries as the FID of a ranked track does?"""

from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import require_results
from scorer.db.leaderboard.shown_tracks import values_on
from scorer.db.tables import Account, ShownTrack
from scorer.insights.figure_summaries import FigureSummary
from scorer.insights.figures import Figure, figure_of_track
from scorer.insights.overview import InsightsData
from scorer.lifecycle import TrackKind
from scorer.metrics.metric_catalogue import METRICS
from scorer.metrics.statistics.correlation import pearson, spearman

FIGURE = "shown-track"


def column_of(name: str) -> str:
    """The name of the column of a shown track's numbers, as on boards."""
    return f"shown_{name}"


def shown_track_figure(
    session: Session, data: InsightsData, shown: ShownTrack, track: TrackKind, account: Account | None
) -> Figure:
    """FIDs on a track, and the numbers on a shown track of the entries that have one. The account may see the shown
    track; ``Forbidden`` as of :func:`scorer.insights.figures.figure` for the other."""
    require_results(data.state, track, account)
    entries = data.by_track[track]
    measured = values_on(session, shown.id)
    values = np.array([measured.get(ref, np.nan) for ref in entries.refs.tolist()], np.float64)
    has_one = ~np.isnan(values)
    entries, values = entries.where(has_one), values[has_one]
    metric = METRICS[shown.metric]

    def summarise() -> FigureSummary:
        statistics = {
            "count": len(values),
            "metric": metric.title,
            "extractor": shown.extractor,
            "better": metric.direction,
            "missing": int(np.count_nonzero(~has_one)),
            "pearson": pearson(entries.fid, values),
            "spearman": spearman(entries.fid, values),
        }
        return FigureSummary(statistics, [])

    of_entries = replace(data, by_track={**data.by_track, track: entries})
    drawn = figure_of_track(of_entries, FIGURE, track, "fid", dict)
    columns = [*drawn.columns, column_of(shown.name)]
    return replace(
        drawn, columns=columns, values=[*drawn.values, values], summarise=summarise, shown=shown.name, tau=None
    )
