"""Computes a competition's boards from their definition (:mod:`tests.pure.ranking.specification`), entry by entry."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from scorer.metrics.mifid import is_copy, mifid
from tests.faults.rounds.stack import Stack
from tests.pure.ranking.specification import ScoredEntry, Standings, final_refs, final_standings, standings

COMPETITION = "SELECT id, score_decimals, final_picks FROM competitions WHERE slug = %(slug)s"
TRACKS = (
    "SELECT DISTINCT ON (kind) kind, id, epsilon,"
    " (SELECT tau FROM thresholds WHERE track_id = t.id ORDER BY id DESC LIMIT 1)"
    " FROM tracks t WHERE competition_id = %(competition)s ORDER BY kind, id DESC"
)
ENTRIES = (
    "SELECT DISTINCT ON (s.ref) s.ref, s.id, s.team_id, s.accepted_at, coalesce(s.copied_share, 0), s.late,"
    " m.fid, m.memorization_distance FROM submissions s JOIN measurements m ON m.submission_ref = s.ref"
    " WHERE s.competition_id = %(competition)s AND m.track_id = %(track)s AND s.status = 'scored'"
    " AND (NOT %(final)s OR m.created_at <= coalesce((SELECT CASE WHEN p.published THEN p.as_of END FROM publications p"
    " WHERE p.competition_id = s.competition_id ORDER BY p.id DESC LIMIT 1), 'infinity'))"
    " ORDER BY s.ref, m.id DESC"
)
"""With ``final``: only measurements that count on a published final board."""
PICKS = (
    "SELECT DISTINCT ON (p.team_id) p.team_id, p.submission_refs FROM pick_sets p JOIN teams t ON t.id = p.team_id"
    " WHERE t.competition_id = %(competition)s ORDER BY p.team_id, p.id DESC"
)


class DefinedBoard(NamedTuple):
    """A board: (rank, submission, score) of each place, and the submissions of teams that only have copies."""

    tau: float | None
    places: list[tuple[int | None, str, float]]
    copies: list[str]


def defined_boards(stack: Stack, slug: str) -> Mapping[str, DefinedBoard]:
    """The public and the private board, according to their definition."""
    ((competition, decimals, most_picks),) = stack.rows(COMPETITION, {"slug": slug})
    tracks = {kind: rest for kind, *rest in stack.rows(TRACKS, {"competition": competition})}
    ids: dict[int, str] = {}

    def entries(kind: str, *, final: bool) -> list[ScoredEntry]:
        track, epsilon, tau = tracks[kind]
        rows = stack.rows(ENTRIES, {"competition": competition, "track": track, "final": final})
        ids.update({row[0]: row[1] for row in rows})
        return [_entry(row, tau, epsilon) for row in rows if not row[5]]

    picks = dict(stack.rows(PICKS, {"competition": competition}))
    finals = final_refs(entries("public", final=True), picks, most_picks, decimals)
    boards = {
        "public": standings(entries("public", final=False), decimals),
        "private": final_standings(entries("private", final=True), finals, decimals),
    }
    return {kind: _board(board, ids, tracks[kind][2]) for kind, board in boards.items()}


def _entry(row: tuple[Any, ...], tau: float | None, epsilon: float) -> ScoredEntry:
    ref, _, team, accepted_at, share, _, fid, distance = row
    score = None if tau is None else mifid(fid, distance, tau, epsilon, copied_share=share)
    return ScoredEntry(ref, team, score, accepted_at, copy=bool(is_copy(distance, share)))


def _board(board: Standings, ids: Mapping[int, str], tau: float | None) -> DefinedBoard:
    places = [(line.rank, ids[line.entry.ref], line.score) for line in board.placings]
    return DefinedBoard(tau, places, [ids[entry.ref] for entry in board.copies])


def served_board(stack: Stack, slug: str, kind: str) -> DefinedBoard:
    """A board as the web process serves it."""
    view = stack.admin.get(f"/competitions/{slug}/leaderboard", track=kind, limit=1000)
    places = [(place["rank"], place["submission_id"], place["score"]) for place in view["entries"]]
    return DefinedBoard(view["tau"], places, [copy["submission_id"] for copy in view["copies"]])
