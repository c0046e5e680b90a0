"""The impact of another tau, computed from columns, against the readable definition of boards, entry by entry."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.lifecycle import TrackKind
from scorer.ranking.awards import Awards
from scorer.ranking.columns import EntryColumns
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import choose_finals, rank_entries
from scorer.submissions.labels import LABELS, MEMORISES, LabelInfo, build_label_columns
from scorer.tuning.impact import ThresholdImpact, award_moves
from tests.db.leaderboard.strategies import (
    BASE,
    BENCHMARK,
    MAX_FINAL_PICKS,
    NOW,
    TAUS,
    DrawnCompetition,
    build_field,
    build_picks,
    build_rules,
    competitions,
)
from tests.examples import examples

MEDALS = {"gold": 1, "silver": 2, "bronze": 4}
PRIZES = [{"place": 1, "amount": "a bone"}, {"place": 3, "amount": "a ball"}]
AWARDS = {"public": Awards(MEDALS), "private": Awards(MEDALS, PRIZES)}
taus = st.sampled_from([math.nan, 0.0, *TAUS, 2.0])
labels = st.dictionaries(st.integers(0, 11), st.sampled_from(LABELS))


def with_tau(drawn: DrawnCompetition, kind: str, tau: float) -> DrawnCompetition:
    return replace(drawn, taus={**drawn.taus, kind: [] if math.isnan(tau) else [(0, tau)]})


def penalised(drawn: DrawnCompetition, kind: str, tau: float) -> set[int]:
    """The refs of the competing entries that a tau penalises."""
    waived = {number for number, word in {n: word for _, n, word in drawn.rulings}.items() if word == "waive"}
    return {
        BASE + number
        for number, entry in enumerate(drawn.entries)
        if getattr(entry, kind) and not entry.late and entry.team != BENCHMARK and number not in waived
        and getattr(entry, kind)[-1][2] < tau
    }  # fmt: skip


def distance(drawn: DrawnCompetition, kind: str, ref: int) -> float:
    return float(getattr(drawn.entries[ref - BASE], kind)[-1][2])


def list_placings(drawn: DrawnCompetition, kind: str, tau: float) -> list[tuple[Any, int]]:
    """(team, ref) of each ranked entry, from rank 1."""
    standings = with_tau(drawn, kind, tau).standings(kind, NOW)
    return [(line.entry.team, line.entry.ref) for line in standings.placings if line.rank]


def workload(placings: Iterable[tuple[Any, int]], infos: dict[int, LabelInfo], places: int) -> dict[str, int]:
    filled = viewed = undecided = 0
    for _, ref in placings:
        if filled == places:
            break
        label = infos.get(ref)
        viewed += 1
        undecided += label is None
        filled += label is None or label.memorising is not True
    return {"places": filled, "looked": viewed, "open": undecided}


def compute_impact(
    drawn: DrawnCompetition, kind: TrackKind, first: float, second: float, infos: dict[int, LabelInfo]
) -> ThresholdImpact:
    public = JudgedEntries(build_field(drawn, "public"), build_rules(drawn, "public"))
    judged = replace(public, columns=build_field(drawn, kind), rules=build_rules(drawn, kind))
    if kind == "private":
        judged = replace(judged, finals=choose_finals(public, build_picks(drawn), MAX_FINAL_PICKS))
    before = rank_entries(judged.under(first))
    columns = build_label_columns(infos, judged.columns.ref)
    return ThresholdImpact(before, rank_entries(before.judged.under(second)), columns, AWARDS[kind])


@settings(max_examples=examples(500), deadline=None)
@given(competitions(), st.sampled_from(["public", "private"]), taus, taus, labels)
def test_the_impact_is_the_difference_of_two_boards(
    drawn: DrawnCompetition, kind: TrackKind, first: float, second: float, labelled: dict[int, str]
) -> None:
    infos = {BASE + number: LabelInfo(label, MEMORISES.get(label)) for number, label in labelled.items()}
    impact = compute_impact(drawn, kind, first, second, infos)
    ref = impact.after.judged.columns.ref
    was, now = penalised(drawn, kind, first), penalised(drawn, kind, second)

    def closest_first(refs: set[int]) -> list[int]:
        return sorted(refs, key=lambda ref: (distance(drawn, kind, ref), ref))

    assert impact.below == len(now)
    assert impact.entries == len(penalised(replace(drawn, rulings=[]), kind, 3.0))
    for rows, refs in ((impact.penalised, now - was), (impact.freed, was - now)):
        assert set(ref[rows].tolist()) == refs
        for skipped in range(len(refs) + 1):
            assert ref[impact.closest(rows, skipped, 2)].tolist() == closest_first(refs)[skipped : skipped + 2]

    before, after = (list_placings(drawn, kind, tau) for tau in (first, second))
    ranks = [{team: rank for rank, (team, _) in enumerate(board, 1)} for board in (before, after)]
    teams = sorted({*ranks[0], *ranks[1]}, key=lambda team: (ranks[1].get(team, math.inf), ranks[0].get(team, 0)))
    moves = [(team, ranks[0].get(team, 0), ranks[1].get(team, 0)) for team in teams]
    moves = [move for move in moves if move[1] != move[2]]
    assert list(zip(*(column.tolist() for column in impact.moves), strict=True)) == moves
    medals = [(team, *(AWARDS[kind].find_award(rank).medal for rank in pair)) for team, *pair in moves]
    assert [tuple(move) for move in award_moves(impact.moves, impact.awards, "medal")] == [
        move for move in medals if move[1] != move[2]
    ]
    prizes = [(team, *(AWARDS[kind].find_award(rank).prize for rank in pair)) for team, *pair in moves]
    assert [tuple(move) for move in award_moves(impact.moves, impact.awards, "prize")] == [
        move for move in prizes if move[1] != move[2]
    ]
    assert vars(impact.reviews_before) == workload(before, infos, 4)
    assert vars(impact.reviews) == workload(after, infos, 4)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3]), st.sampled_from([math.nan, 0.0, 0.05, 0.2])), max_size=9))
def test_an_entry_is_borderline_within_two_standard_errors(drawn: list[tuple[float, float]]) -> None:
    count = len(drawn)
    column = np.array([distance for distance, _ in drawn]), np.array([error for _, error in drawn])
    zeros, refs = np.zeros(count, np.int64), np.arange(count)
    ones = np.ones(count)
    columns = EntryColumns(refs, refs, zeros, zeros, ones, *column, 0.0 * ones, zeros > 0, zeros)
    rules = build_rules(DrawnCompetition([], {"public": [(0, 0.2)]}, [], [], []), "public")
    board = rank_entries(JudgedEntries(columns, rules))
    impact = ThresholdImpact(board, board, build_label_columns({}, refs), Awards(MEDALS))
    near = {number for number, (distance, error) in enumerate(drawn) if abs(distance - 0.2) <= 2 * error}
    assert set(impact.borderline.tolist()) == near
