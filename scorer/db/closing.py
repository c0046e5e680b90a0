"""What stands between a competition and its final board, in SQL."""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Subquery, func, or_, select
from sqlalchemy.orm import Session

from scorer.db import board, merges
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
from scorer.lifecycle import PENDING, UNFINISHED, Queue, Status

BAND = 2.0
"""Standard errors around tau within which an entry might as well lie on its other side."""


class OpenEntry(NamedTuple):
    """An entry that something is open about, under its team after merges."""

    id: str
    file_name: str
    team: str


class OpenPlace(NamedTuple):
    """A team's best entry on a track that something is open about."""

    id: str
    team: str
    rank: int
    penalised: bool | None
    memorization_distance: float
    tau: float | None


def pending_entries(session: Session, competition_id: int) -> list[OpenEntry]:
    """Entries in time whose public score is still to come."""
    return _entries(session, competition_id, Submission.status.in_(PENDING), ~Submission.late)


def undecided_reviews(session: Session, competition_id: int) -> list[OpenEntry]:
    """Entries that somebody has begun to review and nobody has decided."""
    begun = select(Review.id).where(Review.submission_ref == Submission.ref).exists()
    return _entries(session, competition_id, begun, ~_is_labelled(Submission.ref))


def open_rebuttals(session: Session, competition_id: int) -> list[OpenEntry]:
    """Entries whose team waits for an answer."""
    answered = select(RebuttalAnswer.id).where(RebuttalAnswer.rebuttal_id == Rebuttal.id).exists()
    waits = select(Rebuttal.id).where(Rebuttal.submission_ref == Submission.ref, ~answered).exists()
    return _entries(session, competition_id, waits)


def unfinished_on(session: Session, track: Track) -> list[OpenEntry]:
    """Entries whose scoring on a track waits or runs."""
    works = select(Job.id).where(
        Job.submission_ref == Submission.ref, Job.track_id == track.id, Job.queue == Queue.SCORE
    )
    unfinished = works.where(Job.state.in_(UNFINISHED)).exists()
    return _entries(session, track.competition_id, unfinished)


def unscored_on(session: Session, track: Track) -> list[OpenEntry]:
    """Entries with a public score, in time, that a track knows nothing of. Benchmarks count: they are on the board."""
    measured = select(Measurement.id).where(
        Measurement.submission_ref == Submission.ref, Measurement.track_id == track.id
    )
    scored = Submission.status == Status.SCORED
    return _entries(session, track.competition_id, scored, ~Submission.late, ~measured.exists())


def _entries(session: Session, competition_id: int, *conditions: ColumnElement[bool]) -> list[OpenEntry]:
    """Entries under the team that they belong to now, oldest first."""
    merged = merges.newest()
    query = (
        select(Submission.id, Submission.file_name, Team.name)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.competition_id == competition_id, *conditions)
    )
    return [OpenEntry(*row) for row in session.execute(query.order_by(Submission.ref))]


def unlabelled_places(session: Session, track_id: int, *, decimals: int, last: int) -> list[OpenPlace]:
    """The places down to rank ``last`` whose entry nobody has decided about, by a label or a ruling."""
    places = board.ranked(track_id, decimals=decimals).subquery("places")
    decided = or_(_is_labelled(places.c.ref), _is_ruled(places.c.ref))
    return _open_places(session, places, places.c.rank <= last, ~decided)


def borderline_places(session: Session, track_id: int, *, decimals: int, last: int) -> list[OpenPlace]:
    """Teams' best entries whose distance is within two standard errors of tau and that are in the places down to
    ``last``, or would be without the penalty; those apart that somebody has ruled on."""
    places = board.ranked(track_id, decimals=decimals).subquery("places")
    cutoff: Select[Any] = select(func.max(places.c.score)).where(places.c.rank <= last)
    near = func.abs(places.c.memorization_distance - places.c.tau) <= BAND * func.coalesce(places.c.distance_se, 0.0)
    concerned = or_(places.c.rank <= last, places.c.fid < cutoff.scalar_subquery())
    return _open_places(session, places, near, concerned, ~_is_ruled(places.c.ref))


def _open_places(session: Session, places: Subquery, *conditions: ColumnElement[bool]) -> list[OpenPlace]:
    query: Select[Any] = select(*(places.c[name] for name in OpenPlace._fields)).where(*conditions)
    return [OpenPlace(*row) for row in session.execute(query.order_by(places.c.rank))]


def _is_labelled(ref: Any) -> ColumnElement[bool]:
    return select(Label.id).where(Label.submission_ref == ref).exists()


def _is_ruled(ref: Any) -> ColumnElement[bool]:
    return select(Ruling.id).where(Ruling.submission_ref == ref).exists()
