"""The checklist before publication: the conditions for publishing the board, and their open cases."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer.competitions import board_terms
from scorer.competitions.appeal_windows import appeals_end, compute_window, had_time_to_appeal, newest_provisional
from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.evidence.shared_images import sharing_entries
from scorer.db.jobs.failed_jobs import failed
from scorer.db.leaderboard.board_details import load_scores
from scorer.db.leaderboard.scores import Score
from scorer.db.review import publication
from scorer.db.review.flag_query import BORDERLINE_STANDARD_ERRORS, QueueState
from scorer.db.review.publication import OpenEntries
from scorer.db.submissions.duplicates import load_duplicates
from scorer.findings.formatting import counted
from scorer.findings.signs import MIN_SHARE
from scorer.leaderboard.rows import load_ranked_board
from scorer.lifecycle import Phase
from scorer.ranking.columns import is_among
from scorer.ranking.vectorised import RankedBoard
from scorer.review.shared_images import came_first, same_images_sentence, sharing_sentence
from scorer.submissions.labels import MEMORISING

MAX_CONCERNS = 10
"""The most cases of an open item that are listed."""


@dataclass(frozen=True)
class Concern:
    """An open case of a point: an entry, or a failed job."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True, json_schema_serialization_defaults_required=True)

    submission_id: str
    team: str
    """The entry's team; for a failed job, the entry's file."""
    words: str
    evidence: str | None = None
    """A page with the evidence, as a path on this site."""


@dataclass(frozen=True)
class ChecklistPoint:
    """A condition of the checklist. ``count`` is the number of open cases."""

    name: str
    title: str
    count: int
    words: str
    link: str
    """The page where you can settle it, as a path on this site."""
    concerns: Sequence[Concern] = ()

    @property
    def passed(self) -> bool:
        return self.count == 0


def competition_path(state: CompetitionState) -> str:
    return f"/competitions/{state.competition.slug}"


def winning_points(session: Session, state: CompetitionState, board: RankedBoard) -> list[ChecklistPoint]:
    """The points about entries that win a medal or prize, or would without a penalty."""
    points = (_places, _unruled, _condemned, _shared, _borderline)
    return [point(session, state, board) for point in points]


def _places(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    last = state.awards.last_winning_rank
    scores = publication.undecided(session, state.tracks["private"].id, _winning_refs(board, last))
    words = f"Entries at rank {last} or better that have neither a decided label nor a ruling."
    concerns = _ranked(scores, board, _at_rank)
    return _build_queue_point(
        state, "medals", "All winning places are reviewed", count=len(scores), words=words, concerns=concerns
    )


def _unruled(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    last = state.awards.last_winning_rank
    refs = _winning_refs(board, last)
    scores = publication.labelled_without_ruling(session, state.tracks["private"].id, refs, labels=MEMORISING)
    words = f"Entries at rank {last} or better labelled as memorising. A label alone does not disqualify an entry."
    concerns = _ranked(scores, board, _at_rank)
    title = "Every winning entry labelled as memorising has a ruling"
    return _build_queue_point(state, "unruled", title, count=len(scores), words=words, concerns=concerns, tab="unruled")


def _winning_refs(board: RankedBoard, last: int) -> list[int]:
    refs: list[int] = board.judged.columns.ref[board.rows[:last]].tolist()
    return refs


class _Case(NamedTuple):
    """A fact about the winning entry ``ref`` that needs a ruling made after ``since``."""

    ref: int
    since: datetime
    words: str
    section: str
    """The section of a review page that has the evidence."""
    entry_id: str | None = None
    """The entry with this review page; None for the winning entry."""


def _condemned(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    rows, judged = board.rows[: state.awards.last_winning_rank], board.judged
    winners = dict(zip(judged.team[rows].tolist(), judged.columns.ref[rows].tolist(), strict=True))
    cases = []
    for entry in publication.condemned_entries(session, state.competition.id, list(winners), labels=MEMORISING):
        what, section = ("disqualified", "ruling") if entry.disqualified else ("labelled as memorising", "review")
        if entry.ref != (winner := winners[entry.team_id]):
            cases.append(_Case(winner, entry.since, f"entry {entry.ref} is {what}", section, entry.id))
    title = "No winning team has another entry that is disqualified or labelled as memorising"
    words = "Teams that win with one entry but have another entry that is disqualified or labelled as memorising."
    return _build_case_point(session, state, board, point=("team-entries", title, words), cases=cases)


def _shared(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    refs = _winning_refs(board, state.awards.last_winning_rank)
    same = {(double.of, double.ref): double for double in load_duplicates(session, refs) if not double.own}
    pairs = sharing_entries(session, refs)
    first = came_first(session, pairs)
    cases = [
        _Case(of, max(double.accepted_at, double.of_accepted_at), same_images_sentence(double), "duplicates")
        for (of, _), double in same.items()
    ]
    for pair in pairs:
        is_close = pair.share >= MIN_SHARE or (pair.same_latents, pair.recovered) != (None, None)
        if is_close and (key := (pair.of, pair.ref)) not in same:
            words = f"entry {pair.ref} of {pair.team} shares images. {sharing_sentence(pair)} {first[key]}"
            cases.append(_Case(pair.of, pair.compared_at, words, "duplicates"))
    title = "No winning entry shares images with another team"
    words = (
        f"Winning entries that share at least {100 * MIN_SHARE:g} % of their images with another team, or are nearly"
        " the same generator."
    )
    return _build_case_point(session, state, board, point=("shared-images", title, words), cases=cases)


def _build_case_point(
    session: Session,
    state: CompetitionState,
    board: RankedBoard,
    *,
    point: tuple[str, str, str],
    cases: Sequence[_Case],
) -> ChecklistPoint:
    """A point (name, title, words) with the cases that no ruling settles, best rank first."""
    ruled = publication.last_ruled(session, [case.ref for case in cases])
    open_ = [case for case in cases if case.ref not in ruled or ruled[case.ref] < case.since]
    ranked = [(board.find_entry_rank(case.ref) or 0, case) for case in open_]
    first = sorted(ranked, key=itemgetter(0))[:MAX_CONCERNS]
    scores = load_scores(session, state.tracks["private"].id, [case.ref for _, case in first])
    concerns = [_case_at_rank(rank, case, scores[case.ref]) for rank, case in first]
    name, title, words = point
    settled = f"{words} To resolve a case, make a ruling on the winning entry."
    return _build_queue_point(state, name, title, count=len(ranked), words=settled, concerns=concerns)


def _case_at_rank(rank: int, case: _Case, winner: Score) -> Concern:
    evidence = f"/submissions/{case.entry_id or winner.id}/review#{case.section}"
    return Concern(winner.id, winner.team, f"{_at_rank(rank, winner)}: {case.words}", evidence)


def _borderline(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    near = _near_tau(board, state.awards.last_winning_rank)
    ruled = publication.last_ruled(session, near)
    open_ = [ref for ref in near if ref not in ruled]
    scores = load_scores(session, state.tracks["private"].id, open_[:MAX_CONCERNS])
    words = (
        f"Entries without a ruling that are within {BORDERLINE_STANDARD_ERRORS:g} standard errors of tau and that win a"
        " medal or prize, or would win one without their penalty."
    )
    concerns = _ranked(scores.values(), board, _distance_and_tau)
    return _build_queue_point(
        state,
        "borderline",
        "No medal or prize depends on an entry near tau",
        count=len(open_),
        words=words,
        concerns=concerns,
    )


def _near_tau(board: RankedBoard, last: int) -> list[int]:
    """The refs, best first, of ranked entries with a distance near tau that win something, or would without the
    penalty. Without the penalty, the score is the FID."""
    judged, rows = board.judged, board.rows
    entry = judged.columns
    cutoff = judged.score[rows[min(last, len(rows)) - 1]] if last and len(rows) else -np.inf
    wins = (np.arange(len(rows)) < last) | (entry.fid[rows] < cutoff)
    rows = rows[wins]
    errors = np.nan_to_num(entry.distance_se[rows])
    near = np.abs(entry.distance[rows] - judged.tau[rows]) <= BORDERLINE_STANDARD_ERRORS * errors
    refs: list[int] = entry.ref[rows[near]].tolist()
    return refs


def _ranked(scores: Iterable[Score], board: RankedBoard, describe: Callable[[int, Score], str]) -> list[Concern]:
    """Concerns about ranked submissions, best first."""
    ranked = sorted((board.find_entry_rank(score.ref) or 0, score.ref, score) for score in scores)
    return [Concern(score.id, score.team, describe(rank, score)) for rank, _, score in ranked[:MAX_CONCERNS]]


def _at_rank(rank: int, _: Score) -> str:
    return f"rank {rank}"


def _distance_and_tau(rank: int, score: Score) -> str:
    side = "penalised" if score.penalised else "not penalised"
    # A ranked entry always has a tau.
    return f"rank {rank}, {side}: distance {score.memorization_distance:.4f}, tau {score.tau or 0.0:.4f}"


def _build_queue_point(
    state: CompetitionState,
    name: str,
    title: str,
    *,
    count: int,
    words: str,
    concerns: Sequence[Concern],
    tab: QueueState = "open",
) -> ChecklistPoint:
    query = "" if tab == "open" else f"?state={tab}"
    return ChecklistPoint(name, title, count, words, f"{competition_path(state)}/review-queue{query}", concerns)


@dataclass(frozen=True)
class Checklist:
    """The points, and the version of the data that they were read from."""

    points: Sequence[ChecklistPoint]
    version: str
    """A hash of the final board, both thresholds, the awards, the days for appeals, and the numbers of open cases.

    It ensures that an organizer publishes exactly what they saw.
    """

    @property
    def open(self) -> list[ChecklistPoint]:
        return [point for point in self.points if not point.passed]


def checklist(session: Session, state: CompetitionState, now: datetime, *, final: bool = True) -> Checklist:
    """All conditions for publishing the final board, or (not ``final``) the provisional one."""
    board = load_ranked_board(session, state, "private")
    points = [
        _closed(state),
        _pending(session, state),
        _private_jobs(session, state),
        _failed(session, state),
        _unscored(session, state, board),
        _thresholds(session, state),
        _reviews(session, state),
        *winning_points(session, state, board),
        _rebuttals(session, state),
        _rebuttal_window(state, now),
    ]
    if final:
        points.append(_appeals(session, state, now))
    return Checklist(points, _version(session, state, board, points=points))


def _version(session: Session, state: CompetitionState, board: RankedBoard, *, points: Sequence[ChecklistPoint]) -> str:
    newest = (tuning.newest_threshold(session, track.id) for track in state.tracks.values())
    thresholds = [None if threshold is None else threshold.id for threshold in newest]
    rules = board_terms.list_board_rules(state)
    digest = hashlib.sha256(repr((thresholds, rules, [(point.name, point.count) for point in points])).encode())
    judged = board.judged
    for rows in (board.rows, board.benchmarks, board.copies, board.disqualified):
        digest.update(judged.columns.ref[rows].tobytes() + judged.score[rows].tobytes() + b"|")
    return digest.hexdigest()[:20]


def _closed(state: CompetitionState) -> ChecklistPoint:
    not_closed = {Phase.DRAFT: "The competition has not opened yet.", Phase.OPEN: "Teams can still submit entries."}
    words = not_closed.get(state.phase, "New entries do not count for the final board.")
    is_open = int(state.phase in not_closed)
    return ChecklistPoint("closed", "The competition has closed", is_open, words, competition_path(state))


def _pending(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.pending_entries(session, state.competition.id, limit=MAX_CONCERNS)
    words = "Entries that are waiting for their public score."
    return _point(
        "public-jobs", "Every entry is scored or rejected", rows, words=words, link=f"{competition_path(state)}/entries"
    )


def _private_jobs(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.unfinished_on(session, state.tracks["private"], limit=MAX_CONCERNS)
    words = "Entries that are waiting for their private score."
    return _point(
        "private-jobs", "All private scores are computed", rows, words=words, link=f"{competition_path(state)}/entries"
    )


def _failed(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = failed(session, track_id=state.tracks["private"].id)
    concerns = [
        Concern(row.submission_id or "", row.file_name or "", _first_line(row.error)) for row in rows[:MAX_CONCERNS]
    ]
    words = "Private jobs that failed after several attempts. You can restart them."
    title = "No private job has failed"
    return ChecklistPoint("failed-jobs", title, len(rows), words, f"{competition_path(state)}/publication", concerns)


def _first_line(text: str | None) -> str:
    return (text or "").split("\n", 1)[0][:300]


def _unscored(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    public = load_ranked_board(session, state, "public").judged.columns
    # Every scored entry has a public measurement. Benchmark entries are included, because boards show them.
    in_time = public.ref[~public.late]
    refs = in_time[~is_among(in_time, board.judged.columns.ref)]
    first = publication.named_entries(session, state.competition.id, refs[:MAX_CONCERNS].tolist())
    rows = OpenEntries(len(refs), first)
    words = "Entries with a public score but no private one. They cannot be on the final board."
    return _point(
        "unscored", "Every entry has a private score", rows, words=words, link=f"{competition_path(state)}/entries"
    )


def _thresholds(session: Session, state: CompetitionState) -> ChecklistPoint:
    missing = [kind for kind, track in state.tracks.items() if tuning.newest_threshold(session, track.id) is None]
    words = "Entries with a memorization distance below tau are penalised."
    if missing:
        # Teams without picks are ranked by their best public submissions.
        words = f"Without tau, no team has a score or rank on the {' and the '.join(missing)} track."
    return ChecklistPoint("threshold", "Both tracks have a tau", len(missing), words, f"{competition_path(state)}/tau")


def _reviews(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.undecided_reviews(session, state.competition.id, limit=MAX_CONCERNS)
    words = "Entries with a review but no decided label."
    return _point(
        "reviews",
        "All reviews have led to a decision",
        rows,
        words=words,
        link=f"{competition_path(state)}/review-queue",
    )


def _rebuttals(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.open_rebuttals(session, state.competition.id, limit=MAX_CONCERNS)
    words = "Rebuttals that are waiting for an answer."
    return _point(
        "rebuttals", "Every rebuttal is answered", rows, words=words, link=f"{competition_path(state)}/review-queue"
    )


def _rebuttal_window(state: CompetitionState, now: datetime) -> ChecklistPoint:
    ends = compute_window(state).ends
    words = "Teams can appeal against penalties and disqualifications for some days after the deadline."
    may_appeal = state.phase is Phase.REVIEW and ends is not None and now < ends
    if may_appeal and ends is not None:
        words = f"Teams can appeal against penalties and disqualifications until {ends:%Y-%m-%d %H:%M} UTC."
    title = "The time for rebuttals has ended"
    return ChecklistPoint("rebuttal-window", title, int(may_appeal), words, f"{competition_path(state)}#timeline")


def _appeals(session: Session, state: CompetitionState, now: datetime) -> ChecklistPoint:
    days = counted(state.competition.appeal_days, "day")
    words = f"Teams see their private penalties on the provisional board and can appeal against them for {days}."
    ends = appeals_end(session, state)
    may_appeal = ends is not None and now < ends
    if may_appeal and ends is not None:
        words = (
            f"Teams can appeal against the provisional board until {ends:%Y-%m-%d %H:%M} UTC. They have {days}"
            " from its publication, or from a later ruling, threshold or measurement."
        )
    open_ = may_appeal or not had_time_to_appeal(session, state, now)
    if open_ and not may_appeal and newest_provisional(state) is not None:
        words = (
            f"Teams did not have {days} to appeal, because the provisional board was not public for that long, or"
            " something has changed since. Publish a provisional board again."
        )
    title = "Teams had time to appeal against the provisional board"
    return ChecklistPoint("appeals", title, int(open_), words, f"{competition_path(state)}#timeline")


def _point(name: str, title: str, rows: OpenEntries, *, words: str, link: str) -> ChecklistPoint:
    concerns = [Concern(row.id, row.team, row.file_name) for row in rows.first]
    return ChecklistPoint(name, title, rows.number, words, link, concerns)
