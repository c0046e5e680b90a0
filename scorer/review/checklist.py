"""The checklist before publication: what should hold before the final board is published, and what is open."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions import board_terms
from scorer.competitions.appeal_windows import appeals_end, had_time_to_appeal, newest_provisional, window_of
from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.review import publication
from scorer.db.review.publication import OpenEntries
from scorer.leaderboard.rows import judged_entries_of, ranked_board_of
from scorer.lifecycle import Phase
from scorer.ranking.columns import is_among
from scorer.ranking.vectorised import RankedBoard
from scorer.review import failed_scores
from scorer.review.checklist_point import MAX_CONCERNS, ChecklistPoint, Concern, competition_path
from scorer.review.winning_entries import winning_points


@dataclass(frozen=True)
class Checklist:
    """The points, and the version of what they were read beside."""

    points: Sequence[ChecklistPoint]
    version: str
    """A hash of the final board, both thresholds, what ranks win, the days for appeals, and the numbers of open cases:
    who has seen the checklist publishes this and nothing else."""

    @property
    def open(self) -> list[ChecklistPoint]:
        """The points that are open."""
        return [point for point in self.points if not point.passed]


def checklist(session: Session, state: CompetitionState, now: datetime, *, final: bool = True) -> Checklist:
    """All conditions that should hold before the final board is published, or (not ``final``) the provisional one."""
    board = ranked_board_of(session, state.competition, state.tracks, "private")
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
    return Checklist(points, _version(session, state, board, points))


def _version(session: Session, state: CompetitionState, board: RankedBoard, points: Sequence[ChecklistPoint]) -> str:
    newest = (tuning.newest_threshold(session, track.id) for track in state.tracks.values())
    thresholds = [None if threshold is None else threshold.id for threshold in newest]
    terms = board_terms.terms_of(state)
    digest = hashlib.sha256(repr((thresholds, terms, [(point.name, point.count) for point in points])).encode())
    judged = board.judged
    for rows in (board.rows, board.benchmarks, board.copies, board.disqualified):
        digest.update(judged.columns.ref[rows].tobytes() + judged.score[rows].tobytes() + b"|")
    return digest.hexdigest()[:20]


def _closed(state: CompetitionState) -> ChecklistPoint:
    not_closed = {Phase.DRAFT: "It has not opened yet.", Phase.OPEN: "Teams may still enter."}
    words = not_closed.get(state.phase, "No more entries are taken for the final board.")
    is_open = int(state.phase in not_closed)
    return ChecklistPoint("closed", "The competition has closed", is_open, words, competition_path(state))


def _pending(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.pending_entries(session, state.competition.id, limit=MAX_CONCERNS)
    words = "Entries that wait for their public score."
    return _point("public-jobs", "Every entry has ended", rows, words, f"{competition_path(state)}/entries")


def _private_jobs(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.unfinished_on(session, state.tracks["private"], limit=MAX_CONCERNS)
    words = "Entries whose private score is being made."
    return _point("private-jobs", "The private scores are made", rows, words, f"{competition_path(state)}/entries")


def _failed(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = failed_scores.failed_private(session, state)
    concerns = [
        Concern(row.submission_id or "", row.file_name or "", _first_line(row.error)) for row in rows[:MAX_CONCERNS]
    ]
    words = "Private jobs that failed for good, each after several attempts. They can be tried again."
    title = "No private job has failed"
    return ChecklistPoint("failed-jobs", title, len(rows), words, f"{competition_path(state)}/publication", concerns)


def _first_line(text: str | None) -> str:
    return (text or "").split("\n", 1)[0][:300]


def _unscored(session: Session, state: CompetitionState, board: RankedBoard) -> ChecklistPoint:
    public = judged_entries_of(session, state.competition, state.tracks, "public").columns
    # Whatever is scored has a public measurement. Benchmarks are included, which boards show.
    in_time = public.ref[~public.late]
    refs = in_time[~is_among(in_time, board.judged.columns.ref)]
    first = publication.named_entries(session, state.competition.id, refs[:MAX_CONCERNS].tolist())
    rows = OpenEntries(len(refs), first)
    words = "Entries with a public score and no private one: they cannot be on the final board."
    return _point("unscored", "Every entry has a private score", rows, words, f"{competition_path(state)}/entries")


def _thresholds(session: Session, state: CompetitionState) -> ChecklistPoint:
    missing = [kind for kind, track in state.tracks.items() if tuning.newest_threshold(session, track.id) is None]
    words = "Entries whose memorization distance is below it are penalised."
    if missing:
        # Teams without picks are ranked by their best public submissions.
        words = f"Without it nobody has a score on the {' and the '.join(missing)} track, nor a rank by it."
    return ChecklistPoint(
        "threshold", "Both tracks have their tau", len(missing), words, f"{competition_path(state)}/tau"
    )


def _reviews(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.undecided_reviews(session, state.competition.id, limit=MAX_CONCERNS)
    words = "Entries that somebody has begun to review and nobody has decided."
    return _point("reviews", "Reviews that were begun are decided", rows, words, f"{competition_path(state)}/desk")


def _rebuttals(session: Session, state: CompetitionState) -> ChecklistPoint:
    rows = publication.open_rebuttals(session, state.competition.id, limit=MAX_CONCERNS)
    words = "Teams that have appealed and wait for an answer."
    return _point("rebuttals", "Every rebuttal is answered", rows, words, f"{competition_path(state)}/desk")


def _rebuttal_window(state: CompetitionState, now: datetime) -> ChecklistPoint:
    ends = window_of(state).ends
    words = "Teams may appeal against penalties and rulings after the close, for the days that the competition names."
    may_appeal = state.phase is Phase.REVIEW and ends is not None and now < ends
    if may_appeal and ends is not None:
        words = f"Until {ends:%Y-%m-%d %H:%M} UTC teams may appeal against penalties and rulings; publishing ends that."
    title = "The time for rebuttals has ended"
    return ChecklistPoint("rebuttal-window", title, int(may_appeal), words, f"{competition_path(state)}#timeline")


def _appeals(session: Session, state: CompetitionState, now: datetime) -> ChecklistPoint:
    days = state.competition.appeal_days
    words = f"Teams see their private penalties on the provisional board, and may appeal against them for {days} days."
    ends = appeals_end(session, state)
    may_appeal = ends is not None and now < ends
    if may_appeal and ends is not None:
        words = (
            f"Until {ends:%Y-%m-%d %H:%M} UTC teams may appeal against what the provisional board shows: for {days}"
            " days from then on, or from a ruling, threshold or measurement that came later."
        )
    open_ = may_appeal or not had_time_to_appeal(session, state, now)
    if open_ and not may_appeal and newest_provisional(state) is not None:
        words = (
            f"Teams could not appeal for {days} days against everything: something came after the provisional board, or"
            " it was public for less. Publish one again."
        )
    title = "Teams could appeal against the provisional board"
    return ChecklistPoint("appeals", title, int(open_), words, f"{competition_path(state)}#timeline")


def _point(name: str, title: str, rows: OpenEntries, words: str, link: str) -> ChecklistPoint:
    concerns = [Concern(row.id, row.team, row.file_name) for row in rows.first]
    return ChecklistPoint(name, title, rows.number, words, link, concerns)
