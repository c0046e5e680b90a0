"""The points of the checklist about entries that win a medal or prize."""

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.evidence.shared_images import sharing_entries
from scorer.db.leaderboard.scores import Score
from scorer.db.review import publication
from scorer.db.review.flag_query import QueueState
from scorer.db.submissions.duplicates import duplicates_of
from scorer.findings.duplicates import shared_images_sentence
from scorer.findings.signs import MIN_SHARE
from scorer.ranking.vectorised import RankedBoard
from scorer.review.checklist_point import MAX_CONCERNS, ChecklistPoint, Concern, competition_path
from scorer.review.shared_images import came_first, same_images_sentence
from scorer.submissions.labels import MEMORISING

BORDERLINE_STANDARD_ERRORS = 2.0
"""Standard errors of its distance within which an entry counts as borderline: it could lie on tau's other side."""


def winning_points(session: Session, state: CompetitionState, board: RankedBoard) -> list[ChecklistPoint]:
    """The points about entries that win something, or would without a penalty."""
    points = (_places, _unruled, _condemned, _shared, _borderline)
    return [point(session, state, board) for point in points]


def _places(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    last = state.awards.last_winning_rank
    scores = publication.undecided(session, state.tracks["private"].id, _winning_refs(board, last))
    words = f"Places down to rank {last} whose entry has neither a decided label nor a ruling."
    concerns = _ranked(scores, board, _at_rank)
    return _point_of_desk(state, "medals", "The places that win something are reviewed", len(scores), words, concerns)


def _unruled(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    last = state.awards.last_winning_rank
    refs = _winning_refs(board, last)
    scores = publication.labelled_without_ruling(session, state.tracks["private"].id, refs, MEMORISING)
    words = f"Places down to rank {last} whose entry is labelled as memorising: a label alone takes no place away."
    concerns = _ranked(scores, board, _at_rank)
    title = "Every winner that is labelled as memorising has a ruling"
    return _point_of_desk(state, "unruled", title, len(scores), words, concerns, tab="unruled")


def _winning_refs(board: RankedBoard, last: int) -> list[int]:
    """The entries that hold the ranks down to ``last``."""
    refs: list[int] = board.judged.columns.ref[board.rows[:last]].tolist()
    return refs


class _Case(NamedTuple):
    """Something about the winning entry ``ref`` that a ruling made since then settles."""

    ref: int
    since: datetime
    words: str
    section: str
    """The section of a review page with the evidence."""
    entry_id: str | None = None
    """The entry that has this page; None: the winning entry."""


def _condemned(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    rows, judged = board.rows[: state.awards.last_winning_rank], board.judged
    winners = dict(zip(judged.team[rows].tolist(), judged.columns.ref[rows].tolist(), strict=True))
    cases = []
    for entry in publication.condemned_entries(session, state.competition.id, list(winners), MEMORISING):
        what, section = ("disqualified", "ruling") if entry.disqualified else ("labelled as memorising", "review")
        if entry.ref != (winner := winners[entry.team_id]):
            cases.append(_Case(winner, entry.since, f"entry {entry.ref} is {what}", section, entry.id))
    title = "No winning team has another entry that is disqualified or memorises"
    words = "Teams that win something with one entry while another one is disqualified or labelled as memorising."
    return _point_of_cases(session, state, board, ("team-entries", title, words), cases)


def _shared(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    refs = _winning_refs(board, state.awards.last_winning_rank)
    same = {(double.of, double.ref): double for double in duplicates_of(session, refs) if not double.own}
    pairs = sharing_entries(session, refs)
    first = came_first(session, pairs)
    cases = [
        _Case(of, max(double.accepted_at, double.of_accepted_at), same_images_sentence(double), "duplicates")
        for (of, _), double in same.items()
    ]
    for pair in pairs:
        if pair.share >= MIN_SHARE and (key := (pair.of, pair.ref)) not in same:
            shared = shared_images_sentence(pair.images, pair.equal, pair.share)
            words = f"entry {pair.ref} of {pair.team} shares images: {shared} {first[key]}"
            cases.append(_Case(pair.of, pair.compared_at, words, "duplicates"))
    title = "No winning entry shares images with another team"
    words = f"Entries that win something and share {100 * MIN_SHARE:g} % of their images or more with another team."
    return _point_of_cases(session, state, board, ("shared-images", title, words), cases)


def _point_of_cases(
    session: Session,
    state: CompetitionState,
    board: RankedBoard,
    point: tuple[str, str, str],
    cases: Sequence[_Case],
) -> ChecklistPoint:
    """A point (name, title, words) with those of the cases that no ruling settles, best rank first."""
    ruled = publication.last_ruled(session, [case.ref for case in cases])
    ranked = [(board.rank_of(case.ref) or 0, case) for case in cases if not _is_since(ruled.get(case.ref), case.since)]
    first = sorted(ranked, key=itemgetter(0))[:MAX_CONCERNS]
    scores = publication.scores_of(session, state.tracks["private"].id, [case.ref for _, case in first])
    by_ref = {score.ref: score for score in scores}
    concerns = [_case_at_rank(rank, case, by_ref[case.ref]) for rank, case in first]
    name, title, words = point
    settled = f"{words} A later ruling on the winning entry settles it."
    return _point_of_desk(state, name, title, len(ranked), settled, concerns)


def _is_since(ruled: datetime | None, since: datetime) -> bool:
    return ruled is not None and ruled >= since


def _case_at_rank(rank: int, case: _Case, winner: Score) -> Concern:
    evidence = f"/submissions/{case.entry_id or winner.id}/desk#{case.section}"
    return Concern(winner.id, winner.team, f"{_at_rank(rank, winner)}: {case.words}", evidence)


def _borderline(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    near = _near_tau(board, state.awards.last_winning_rank)
    ruled = publication.last_ruled(session, near)
    open_ = [ref for ref in near if ref not in ruled]
    scores = publication.scores_of(session, state.tracks["private"].id, open_[:MAX_CONCERNS])
    words = (
        f"Entries within {BORDERLINE_STANDARD_ERRORS:g} standard errors of tau that win something, or would without"
        " the penalty, and that nobody has ruled on."
    )
    concerns = _ranked(scores, board, _distance_and_tau)
    return _point_of_desk(
        state, "borderline", "No medal or prize depends on an entry near tau", len(open_), words, concerns
    )


def _near_tau(board: RankedBoard, last: int) -> list[int]:
    """The refs, best first, of ranked entries whose distance is near tau and that win something or would without the
    penalty: without it a score is the FID."""
    judged, rows = board.judged, board.rows
    entry = judged.columns
    cutoff = judged.score[rows[min(last, len(rows)) - 1]] if last and len(rows) else -np.inf
    wins = (np.arange(len(rows)) < last) | (entry.fid[rows] < cutoff)
    rows = rows[wins]
    errors = np.nan_to_num(entry.distance_se[rows])
    near = np.abs(entry.distance[rows] - judged.tau[rows]) <= BORDERLINE_STANDARD_ERRORS * errors
    refs: list[int] = entry.ref[rows[near]].tolist()
    return refs


def _ranked(scores: Sequence[Score], board: RankedBoard, describe: Callable[[int, Score], str]) -> list[Concern]:
    """Ranked submissions behind an open point, best first."""
    ranked = sorted((board.rank_of(score.ref) or 0, score.ref, score) for score in scores)
    return [Concern(score.id, score.team, describe(rank, score)) for rank, _, score in ranked[:MAX_CONCERNS]]


def _at_rank(rank: int, _: Score) -> str:
    return f"rank {rank}"


def _distance_and_tau(rank: int, score: Score) -> str:
    side = "penalised" if score.penalised else "not penalised"
    # Whatever is ranked has a tau.
    return f"rank {rank}, {side}: distance {score.memorization_distance:.4f}, tau {score.tau or 0.0:.4f}"


def _point_of_desk(
    state: CompetitionState,
    name: str,
    title: str,
    count: int,
    words: str,
    concerns: Sequence[Concern],
    *,
    tab: QueueState = "open",
) -> ChecklistPoint:
    query = "" if tab == "open" else f"?state={tab}"
    return ChecklistPoint(name, title, count, words, f"{competition_path(state)}/desk{query}", concerns)
