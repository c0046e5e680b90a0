"""Summaries of insight figures: correlations, quantiles by label, and how well distances tell who memorises."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from scorer.errors import KennelError
from scorer.insights.overview import LABEL_FILTERS, InsightsData, TrackColumns
from scorer.lifecycle import TrackKind
from scorer.metrics.features import Vector
from scorer.metrics.statistics.correlation import pearson, quantiles, spearman
from scorer.metrics.statistics.threshold_selection import LabelledDistances
from scorer.submissions.labels import LABELS, MEMORISES
from scorer.tuning.thresholds import choice_as_json

MEMORISING_OF_NUMBER = np.array([MEMORISES.get(label, np.nan) for label in (*LABELS, "")], np.float64)
"""1 where a label means memorisation, 0 where it does not, nan where that is unknown."""
METHODS = ("margin", "accuracy", "otsu", "paper")


class FigureSummary(NamedTuple):
    """Statistics over all rows; ``groups``: for each label its entries and quantiles of the figure's first value."""

    statistics: Mapping[str, Any]
    groups: Sequence[Mapping[str, Any]]


def correlations_of(values: Vector, others: Vector) -> dict[str, Any]:
    """Spearman's and Pearson's correlation of two values of the same entries."""
    return {"spearman": spearman(values, others), "pearson": pearson(values, others)}


def groups_by_label(data: InsightsData, entries: TrackColumns, values: Vector) -> list[Mapping[str, Any]]:
    """Count, mean, deviation and quantiles of the entries' values, of each label filter that any passes."""
    if not data.labels:
        return []
    groups: list[Mapping[str, Any]] = []
    for name in LABEL_FILTERS:
        group = values[entries.with_label(name)]
        summary = quantiles(group)
        if summary is not None:
            deviation = float(group.std(ddof=1)) if len(group) > 1 else None
            groups.append(
                {"label": name, "count": len(group), "mean": float(group.mean()), "deviation": deviation}
                | asdict(summary)
            )
    return groups


def separation_of(data: InsightsData, track: TrackKind) -> dict[str, Any]:
    """How well distances separate memorising from legitimate submissions, and each method's choice of threshold."""
    entries, tau = data.by_track[track], data.taus[track]
    if not data.labels or not len(entries.refs):
        return {}
    distances = LabelledDistances(entries.distance, MEMORISING_OF_NUMBER[entries.labels])
    methods: dict[str, Any] = {}
    for method in METHODS if tau is None else (*METHODS, "manual"):
        try:
            choice = distances.choose(method, tau=tau)
        except KennelError as error:
            methods[method] = {"tau": None, "why": error.message}
            continue
        methods[method] = {"tau": choice.tau, **{key: choice_as_json(choice)[key] for key in ("interval", "confusion")}}
    statistics = choice_as_json(distances.choose("paper"))
    names = ("memorization_margin", "relative_variance", "auc", "cohens_d")
    return {name: statistics[name] for name in names} | {"methods": methods}
