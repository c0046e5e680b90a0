"""Titles and sentences of insight figures, and the names of labels in their legends. Pure."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from api.rendering.formatting import DISTANCE_DECIMALS, counted
from scorer.insights import figures
from scorer.insights.figures import LEADERS, Figure

TITLES: Mapping[str, str] = {
    "distances": "Memorization distance",
    "fid": "FID",
    "fid-distance": "FID and memorization distance",
    "public-private": "FID on the public and the final board",
    "ranks": "Ranks on both tracks",
    "shake-up": "Shake-up",
}
LABEL_NAMES: Mapping[str, str] = {
    "legitimate": "legitimate",
    "mgan": "memorising GAN",
    "sup": "supervised mapping",
    "ae": "autoencoder",
    "aug": "augmentation",
    "other": "other",
    "unlabelled": "unlabelled",
    "plain": "entries",
}
"""The legends' names of decided labels, in their order; ``plain`` if the viewer may not see labels."""
CHOICES: Mapping[str, str] = {
    "all": "all",
    "labelled": "labelled",
    "memorising": "memorising",
    **{kind: words for kind, words in LABEL_NAMES.items() if kind != "plain"},
}


def build_title(figure: Figure) -> str:
    title = shown_track_title(figure.shown) if figure.shown else TITLES[figure.name]
    by_label = " by label" if figure.summary.groups and figure.name in {"distances", "fid"} else ""
    return f"{title}{by_label}" + (f", {figure.track} track" if figure.track else "")


def shown_track_title(name: str) -> str:
    return f"FID and {name}"


def build_sentence(figure: Figure) -> str:
    if not len(figure):
        return "Nothing to show yet."
    return _SENTENCES[figure.name](figure)


def _entries(figure: Figure) -> str:
    return counted(figure.summary.statistics["count"], "entry", "entries")


def _number(value: float | None, decimals: int = 3) -> str:
    return "not defined" if value is None else f"{value:,.{decimals}f}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _distances(figure: Figure) -> str:
    statistics = figure.summary.statistics
    parts = [f"{_entries(figure)} by the mean distance from their images to the nearest reference images."]
    if figure.tau is not None:
        below = int(np.count_nonzero(figure.column("distance") < figure.tau))
        parts.append(f"{below:,} {'is' if below == 1 else 'are'} below tau = {figure.tau:.{DISTANCE_DECIMALS}f}.")
    if statistics.get("auc") is not None:
        auc = f"A memorising entry is closer than a legitimate one with probability {statistics['auc']:.5f} (AUC)"
        apart = f"; the two classes are {_number(statistics['cohens_d'])} standard deviations apart (Cohen's d)"
        parts.append(f"{auc}{'' if statistics['cohens_d'] is None else apart}.")
    return " ".join(parts)


def _fid(figure: Figure) -> str:
    medians = [
        f"{LABEL_NAMES[group['label']]} {group['median']:,.1f}"
        for group in figure.summary.groups
        if group["label"] in LABEL_NAMES
    ]
    return f"{_entries(figure)}, each shown as a dot." + (f" Medians: {', '.join(medians)}." if medians else "")


def _fid_correlations(figure: Figure, other: str) -> str:
    statistics = figure.summary.statistics
    return (
        f"{_entries(figure)}. Pearson's correlation of FID and {other} is {_number(statistics['pearson'])}, Spearman's"
        f" {_number(statistics['spearman'])}."
    )


def _shown_track(figure: Figure) -> str:
    statistics = figure.summary.statistics
    metric = f"{statistics['metric']} with {statistics['extractor']}, {statistics['better']} is better"
    lacking = statistics["missing"]
    missing = f" {lacking:,} more {_have(lacking)} no value for this metric." if lacking else ""
    return f"{figure.shown}: {metric}. {_fid_correlations(figure, figure.shown or '')}{missing}"


def _public_private(figure: Figure) -> str:
    statistics = figure.summary.statistics
    return (
        f"{_entries(figure)}. Spearman's correlation of the FIDs on the public and the final board is"
        f" {_number(statistics['spearman'])}, Pearson's {_number(statistics['pearson'])}. On the line, both"
        " extractors give the same FID. For equal ranks, they only need to agree on the order."
    )


def _ranks(figure: Figure) -> str:
    statistics = figure.summary.statistics
    return (
        f"{_entries(figure)} ranked by FID alone on each track. An entry's two ranks differ by"
        f" {_number(statistics['mean_rank_difference'], 2)} on average. The top {LEADERS} of both tracks have"
        f" {counted(statistics['leaders_in_common'], 'entry', 'entries')} in common."
    )


def _shake_up(figure: Figure) -> str:
    statistics = figure.summary.statistics
    return (
        f"{counted(statistics['count'], 'team')} with a rank on both boards moved"
        f" {_number(statistics['mean_move'], 2)} ranks on average. {statistics['medals_in_common']:,} of them"
        f" {_have(statistics['medals_in_common'])} a medal rank on both. Teams above the line did worse on the"
        " final board."
    )


_SENTENCES: Mapping[str, Callable[[Figure], str]] = {
    "distances": _distances,
    "fid": _fid,
    "fid-distance": partial(_fid_correlations, other="distance"),
    "public-private": _public_private,
    "ranks": _ranks,
    "shake-up": _shake_up,
    figures.SHOWN_TRACK_FIGURE: _shown_track,
}
