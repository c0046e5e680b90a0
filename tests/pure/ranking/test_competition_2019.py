"""The scores and ranks of the 2019 Generative Dog Images competition, recomputed from its released table."""

import hashlib
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import pearsonr, rankdata, spearmanr

from scorer.metrics.mifid import is_penalised, mifid
from scorer.metrics.statistics.threshold_selection import Interval, ThresholdChoice, choose_tau
from tests.pure.oracles import TABLE, CompetitionTable, competition_table, mifid_by_definition
from tests.pure.ranking.specification import ScoredEntry, standings

TAU = {"public": 0.10, "private": 0.25}
DISQUALIFIED = 999_999.0
SHA256 = "c8e26eaa68bcf65070283f380d6fc212d21803860f4eaea0e15ad23b89287e70"


@pytest.fixture(scope="module")
def table() -> CompetitionTable:
    """All 1,666 rows."""
    return competition_table()


def choice(table: CompetitionTable, track: str, method: str, tau: float | None = None) -> ThresholdChoice:
    """A threshold chosen from the 995 labelled rows."""
    known = table.labelled
    return choose_tau(table.distance[track][known], table.memorising[known], method=method, tau=tau)


def errors(chosen: ThresholdChoice) -> tuple[int, int, int]:
    """(caught memorising, missed memorising, penalised legitimate)."""
    assert chosen.confusion is not None
    return (
        chosen.confusion.true_positives,
        chosen.confusion.false_negatives,
        chosen.confusion.false_positives,
    )


def test_the_table_is_the_released_one(table: CompetitionTable) -> None:
    assert hashlib.sha256(TABLE.read_bytes()).hexdigest() == SHA256
    kinds, counts = np.unique(table.labels, return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {
        "": 671,
        "ae": 10,
        "aug": 52,
        "mgan": 366,
        "non-mem": 497,
        "sup": 70,
    }


@pytest.mark.parametrize("track", ["public", "private"])
def test_every_released_score_is_reproduced(table: CompetitionTable, track: str) -> None:
    has_score = table.score[track] != DISQUALIFIED
    judged = mifid(table.fid[track], table.distance[track], TAU[track])
    relative = np.abs(judged / table.score[track] - 1.0)[has_score]
    assert relative.max() < 1e-12
    by_definition = [
        mifid_by_definition(fid, distance, TAU[track], 1e-15)
        for fid, distance in zip(table.fid[track], table.distance[track], strict=True)
    ]
    np.testing.assert_allclose(judged, by_definition, rtol=1e-15)
    paper = np.where(table.distance[track] < TAU[track], 1.0 / (table.distance[track] + 1e-15), 1.0)
    np.testing.assert_array_equal(judged, table.fid[track] * paper)  # limiting the penalty to at least 1 changes no bit


def test_the_epsilon_of_other_libraries_does_not_reproduce_the_scores(table: CompetitionTable) -> None:
    unpenalised = table.distance["public"] >= TAU["public"]
    penalised = mifid(table.fid["public"], table.distance["public"], TAU["public"], 1e-14)
    exact = mifid(table.fid["public"], table.distance["public"], TAU["public"], 1e-15)
    off = np.abs(penalised / table.score["public"] - 1.0)
    assert off[~unpenalised].max() > 10 * np.abs(exact / table.score["public"] - 1.0)[~unpenalised].max()


def test_the_numbers_of_penalised_entries(table: CompetitionTable) -> None:
    assert int(is_penalised(table.distance["public"], 0.10).sum()) == 3
    has_score = table.score["private"] != DISQUALIFIED
    assert int((~has_score).sum()) == 495
    assert int(is_penalised(table.distance["private"], 0.25)[has_score].sum()) == 1
    assert int(is_penalised(table.distance["private"], 0.25)[~has_score].sum()) == 446


@pytest.mark.parametrize(("track", "below", "above"), [("public", 0.09571, 0.10024), ("private", 0.18244, 0.25022)])
def test_the_released_scores_bracket_the_threshold(
    table: CompetitionTable, track: str, below: float, above: float
) -> None:
    """This uses only score and FID, without the disqualified entries, which have no score."""
    has_score = table.score[track] != DISQUALIFIED
    penalised = has_score & (table.score[track] > 1.5 * table.fid[track])
    assert table.distance[track][penalised].max() == pytest.approx(below, abs=5e-6)
    assert table.distance[track][has_score & ~penalised].min() == pytest.approx(above, abs=5e-6)
    np.testing.assert_array_equal(is_penalised(table.distance[track], TAU[track])[has_score], penalised[has_score])


@pytest.mark.parametrize(
    ("track", "tau", "interval", "counts"),
    [
        ("public", 0.15140, Interval(0.15106381815389758, 0.15172746456042174), (447, 51, 0)),
        ("private", 0.24943, Interval(0.24863552551922136, 0.2502234994489345), (446, 52, 0)),
    ],
)
def test_margin(
    table: CompetitionTable, track: str, tau: float, interval: Interval, counts: tuple[int, int, int]
) -> None:
    chosen = choice(table, track, "margin")
    assert chosen.tau == pytest.approx(tau, abs=5e-6)
    assert chosen.interval == interval
    assert errors(chosen) == counts


@pytest.mark.parametrize("track", ["public", "private"])
def test_unlabelled_rows_do_not_change_margin(table: CompetitionTable, track: str) -> None:
    memorised = np.where(table.labelled, table.memorising.astype(float), np.nan)
    everyone = choose_tau(table.distance[track], memorised)
    labelled = choice(table, track, "margin")
    assert (everyone.tau, everyone.confusion, everyone.auc) == (
        labelled.tau,
        labelled.confusion,
        labelled.auc,
    )


@pytest.mark.parametrize(("track", "tau", "wrong"), [("public", 0.19829, 43), ("private", 0.35277, 29)])
def test_accuracy(table: CompetitionTable, track: str, tau: float, wrong: int) -> None:
    chosen = choice(table, track, "accuracy")
    assert chosen.tau == pytest.approx(tau, abs=5e-6)
    assert chosen.confusion is not None
    assert chosen.confusion.errors == wrong


@pytest.mark.parametrize(("track", "tau", "within"), [("public", 0.16594, 0.1913), ("private", 0.30577, 0.4058)])
def test_otsu(table: CompetitionTable, track: str, tau: float, within: float) -> None:
    chosen = choice(table, track, "otsu")
    assert chosen.tau == pytest.approx(tau, abs=5e-6)
    known = table.distance[track][table.labelled]
    parts = known[known < chosen.tau], known[known >= chosen.tau]
    assert sum(((part - part.mean()) ** 2).sum() for part in parts) == pytest.approx(within, abs=5e-5)


@pytest.mark.parametrize(("track", "tau", "wrong"), [("public", 0.16802, (7, 39)), ("private", 0.31481, (9, 36))])
def test_paper(table: CompetitionTable, track: str, tau: float, wrong: tuple[int, int]) -> None:
    chosen = choice(table, track, "paper")
    assert chosen.tau == pytest.approx(tau, abs=5e-6)
    _, missed, wronged = errors(chosen)
    assert (wronged, missed) == wrong


@pytest.mark.parametrize(("track", "counts"), [("public", (3, 495, 0)), ("private", (446, 52, 0))])
def test_the_thresholds_in_use(table: CompetitionTable, track: str, counts: tuple[int, int, int]) -> None:
    assert errors(choice(table, track, "manual", tau=TAU[track])) == counts


@pytest.mark.parametrize(
    ("track", "margins", "spread", "separation"),
    [
        ("public", (2.7937, 11.5168), 0.0996, (4.635, 0.99254)),
        ("private", (8.9015, 31.9084), 0.0904, (5.571, 0.99685)),
    ],
)
def test_which_extractor_separates(
    table: CompetitionTable, track: str, margins: tuple[float, float], spread: float, separation: tuple[float, float]
) -> None:
    (labelled, everyone), (cohens_d, auc) = margins, separation
    chosen = choice(table, track, "margin")
    assert chosen.memorization_margin == pytest.approx(labelled, abs=5e-5)
    assert chosen.relative_variance == pytest.approx(spread, abs=5e-5)
    assert chosen.cohens_d == pytest.approx(cohens_d, abs=5e-4)
    assert chosen.auc == pytest.approx(auc, abs=5e-6)
    unlabelled = choose_tau(table.distance[track], method="otsu")
    assert unlabelled.memorization_margin == pytest.approx(everyone, abs=5e-5)
    assert (unlabelled.auc, unlabelled.cohens_d, unlabelled.confusion) == (None, None, None)


@pytest.mark.parametrize(
    ("track", "memorising", "legitimate"),
    [
        ("public", (0.1004, 0.1085, 0.2059), (0.1617, 0.2190, 0.2378)),
        ("private", (0.1688, 0.2139, 0.3716), (0.2936, 0.4095, 0.4281)),
    ],
)
def test_class_quantiles(
    table: CompetitionTable, track: str, memorising: tuple[float, ...], legitimate: tuple[float, ...]
) -> None:
    of = {True: table.distance[track][table.memorising], False: table.distance[track][table.legitimate]}
    np.testing.assert_allclose(np.percentile(of[True], [1, 50, 99]), memorising, atol=5.1e-5)
    np.testing.assert_allclose(np.percentile(of[False], [1, 50, 99]), legitimate, atol=5.1e-5)


def test_correlations(table: CompetitionTable) -> None:
    own = table.legitimate
    public, private = table.fid["public"], table.fid["private"]
    assert pearsonr(public[own], table.distance["public"][own])[0] == pytest.approx(0.964151, abs=5e-7)
    assert pearsonr(private[own], table.distance["private"][own])[0] == pytest.approx(0.955111, abs=5e-7)
    assert spearmanr(public, private)[0] == pytest.approx(0.935254, abs=5e-7)
    assert spearmanr(public[own], private[own])[0] == pytest.approx(0.590953, abs=5e-7)
    for track, expected in (("public", 0.957898), ("private", 0.972089)):
        top = np.argsort(table.fid[track][own])[:100]
        correlation = pearsonr(table.fid[track][own][top], table.distance[track][own][top])[0]
        assert correlation == pytest.approx(expected, abs=5e-7)


def test_rank_differences(table: CompetitionTable) -> None:
    def mean_difference(chosen: NDArray[np.bool_]) -> float:
        ranks = [rankdata(table.fid[track][chosen]) for track in ("public", "private")]
        return float(np.abs(ranks[0] - ranks[1]).mean())

    assert mean_difference(np.ones(len(table.labels), bool)) == pytest.approx(122.16927, abs=5e-6)
    assert mean_difference(table.legitimate) == pytest.approx(94.66398, abs=5e-6)


@pytest.mark.parametrize("track", ["public", "private"])
def test_the_board_is_the_released_one(table: CompetitionTable, track: str) -> None:
    """The ranks computed from FID and distance are those of the released scores."""
    scored = np.flatnonzero(table.score[track] != DISQUALIFIED)
    scores = mifid(table.fid[track], table.distance[track], TAU[track])[scored]
    start = datetime(2019, 6, 28, tzinfo=UTC)
    entries = [
        ScoredEntry(place, place, float(score), start + timedelta(seconds=place)) for place, score in enumerate(scores)
    ]
    ranks = {line.entry.ref: line.rank for line in standings(entries, precision=9).placings}
    released = rankdata(np.round(table.score[track][scored], 9), method="ordinal")
    assert [ranks[place] for place in range(len(scored))] == released.tolist()


@pytest.mark.parametrize("which", ["legitimate", "everyone"])
def test_the_boards_of_both_tracks(table: CompetitionTable, which: str) -> None:
    """Every row is a team of its own. The ranks are the ordinal ranks of scipy, and the tracks' top fives differ."""
    own = np.flatnonzero(table.legitimate if which == "legitimate" else np.ones(len(table.labels), bool))
    start = datetime(2019, 6, 28, tzinfo=UTC)
    top: list[set[int]] = []
    for track in ("public", "private"):
        # These scores follow from tau alone, without disqualifications.
        scores = mifid(table.fid[track], table.distance[track], TAU[track])[own]
        entries = [
            ScoredEntry(int(row), int(row), float(score), start + timedelta(seconds=int(row)))
            for row, score in zip(own, scores, strict=True)
        ]
        lines = standings(reversed(entries), precision=12).placings
        ranks = {line.entry.ref: line.rank for line in lines}
        ordinal = rankdata(np.round(scores, 12), method="ordinal")
        assert [ranks[int(row)] for row in own] == ordinal.tolist()
        top.append({line.entry.ref for line in lines[:5]})
    assert len(top[0] & top[1]) == (1 if which == "legitimate" else 0)
