"""A board in memory against its definition."""

from scorer import ranking
from scorer.field import Order
from tests.db.drawing import DECIMALS, Competition


def lines_of(found: ranking.Standings) -> list[tuple[int, float, int, object]]:
    """(rank, score, ref, team) of each rank."""
    return [(line.rank, line.score, line.entry.ref, line.entry.team) for line in found.placings if line.rank]


def benchmarks_of(found: ranking.Standings) -> list[int]:
    return [line.entry.ref for line in found.placings if line.rank is None]


def refs_of(entries: tuple[ranking.Entry, ...]) -> list[int]:
    return [entry.ref for entry in entries]


def columns_are_the_definition(order: Order, drawn: Competition, which: str, minute: int) -> None:
    """The same of a board in memory."""
    kind, late, judged = "private" if which == "private" else "public", which == "late", order.judged
    expected = drawn.standings(kind, minute, late=late)
    found = [
        (rank, float(judged.score[row]), int(judged.field.ref[row]), int(judged.team[row]))
        for rank, row in enumerate(order.rows, 1)
    ]
    assert found == lines_of(expected)
    assert judged.field.ref[order.copies].tolist() == refs_of(expected.copies)
    assert judged.field.ref[order.disqualified].tolist() == refs_of(expected.disqualified)
    if not late:
        assert judged.field.ref[order.benchmarks].tolist() == benchmarks_of(expected)
    teams = {line.entry.team: line.rank for line in expected.placings}
    best = {line.entry.ref: line.rank for line in expected.placings}
    entries = drawn.field(kind, minute, late=late)
    for entry in entries:
        assert order.rank_of_team(int(str(entry.team))) == teams.get(entry.team)
        assert order.rank_of(entry.ref) == best.get(entry.ref)
        if kind == "public":
            assert order.would_be_rank(entry.ref) == ranking.would_be_rank(entries, entry.ref, DECIMALS)
