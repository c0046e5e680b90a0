"""SQL for the checklist before publication: entries whose score, review or rebuttal is still open."""

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import Score, judged_entries
from scorer.db.tables import (
    Job,
    Label,
    Measurement,
    Rebuttal,
    RebuttalAnswer,
    Review,
    Ruling,
    Submission,
    Team,
    Track,
)
from scorer.db.teams import merges
from scorer.lifecycle import PENDING, UNFINISHED, Queue, Status

BORDERLINE_STANDARD_ERRORS = 2.0
"""Standard errors of its distance within which an entry counts as borderline: it could lie on tau's other side."""


class OpenEntry(NamedTuple):
    """An entry that keeps the board from being final; ``team``: the name of the team that it belongs to now."""

    ref: int
    id: str
    file_name: str
    team: str


def pending_entries(session: Session, competition_id: int) -> list[OpenEntry]:
    """Entries in time whose public score is pending."""
    return _entries(session, competition_id, Submission.status.in_(PENDING), ~Submission.late)


def undecided_reviews(session: Session, competition_id: int) -> list[OpenEntry]:
    """Entries with a review and without a decided label."""
    begun = select(Review.id).where(Review.submission_ref == Submission.ref).exists()
    return _entries(session, competition_id, begun, ~_is_labelled(Submission.ref))


def open_rebuttals(session: Session, competition_id: int) -> list[OpenEntry]:
    """Entries with an unanswered rebuttal."""
    answered = select(RebuttalAnswer.id).where(RebuttalAnswer.rebuttal_id == Rebuttal.id).exists()
    waits = select(Rebuttal.id).where(Rebuttal.submission_ref == Submission.ref, ~answered).exists()
    return _entries(session, competition_id, waits)


def unfinished_on(session: Session, track: Track) -> list[OpenEntry]:
    """Entries with an unfinished scoring job on a track."""
    jobs = select(Job.id).where(
        Job.submission_ref == Submission.ref, Job.track_id == track.id, Job.queue == Queue.SCORE
    )
    unfinished = jobs.where(Job.state.in_(UNFINISHED)).exists()
    return _entries(session, track.competition_id, unfinished)


def unscored_on(session: Session, track: Track) -> list[OpenEntry]:
    """Entries in time with a public score and no measurement on a track; benchmarks included, which boards show."""
    measured = select(Measurement.id).where(
        Measurement.submission_ref == Submission.ref, Measurement.track_id == track.id
    )
    scored = Submission.status == Status.SCORED
    return _entries(session, track.competition_id, scored, ~Submission.late, ~measured.exists())


def _entries(session: Session, competition_id: int, *conditions: ColumnElement[bool]) -> list[OpenEntry]:
    """Entries with the team that they belong to now, oldest first."""
    merged = merges.newest_merges()
    query: Any = (
        select(Submission.ref, Submission.id, Submission.file_name, Team.name.label("team"))
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.competition_id == competition_id, *conditions)
    )
    return [OpenEntry(*row) for row in session.execute(query.order_by(Submission.ref))]


def undecided(session: Session, track_id: int, refs: Collection[int]) -> list[Score]:
    """The judged scores, on a track, of those of the entries without a decided label or ruling."""
    scores = judged_entries(track_id=track_id, refs=refs).subquery("scores")
    decided = or_(_is_labelled(scores.c.ref), _is_ruled(scores.c.ref))
    return [Score(*row) for row in session.execute(select(scores).where(~decided))]


def near_tau(session: Session, track_id: int, refs: Collection[int]) -> list[Score]:
    """The judged scores, on a track, of those of the entries without a ruling whose distance is within two standard
    errors of tau."""
    scores = judged_entries(track_id=track_id, refs=refs).subquery("scores")
    near = func.abs(scores.c.memorization_distance - scores.c.tau) <= BORDERLINE_STANDARD_ERRORS * func.coalesce(
        scores.c.distance_se, 0.0
    )
    return [Score(*row) for row in session.execute(select(scores).where(near, ~_is_ruled(scores.c.ref)))]


def _is_labelled(ref: Any) -> ColumnElement[bool]:
    return select(Label.id).where(Label.submission_ref == ref).exists()


def _is_ruled(ref: Any) -> ColumnElement[bool]:
    return select(Ruling.id).where(Ruling.submission_ref == ref).exists()
