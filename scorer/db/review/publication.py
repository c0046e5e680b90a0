"""SQL for the checklist before publication: entries with an open score, review or rebuttal."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, any_, case, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import Score, id_list, judged_entries
from scorer.db.review.rulings import is_ruled, is_ruled_knowing
from scorer.db.submissions.labels import newest_rows
from scorer.db.tables import (
    Job,
    Label,
    Rebuttal,
    RebuttalAnswer,
    Review,
    Ruling,
    Submission,
    Team,
    Track,
)
from scorer.db.teams import merges
from scorer.lifecycle import PENDING, UNFINISHED, Queue


class OpenEntry(NamedTuple):
    """An entry that prevents the board from being final. ``team`` is the name of its team after merges."""

    ref: int
    id: str
    file_name: str
    team: str


class OpenEntries(NamedTuple):
    """How many entries are open, and the oldest of them."""

    number: int
    first: Sequence[OpenEntry]


def pending_entries(session: Session, competition_id: int, *, limit: int) -> OpenEntries:
    """Entries in time that are waiting for their public score."""
    return _entries(session, competition_id, Submission.status.in_(PENDING), ~Submission.late, limit=limit)


def undecided_reviews(session: Session, competition_id: int, *, limit: int) -> OpenEntries:
    begun = Submission.ref.in_(select(Review.submission_ref))
    return _entries(session, competition_id, begun, ~_is_labelled(Submission.ref), limit=limit)


def open_rebuttals(session: Session, competition_id: int, *, limit: int) -> OpenEntries:
    answered = select(RebuttalAnswer.id).where(RebuttalAnswer.rebuttal_id == Rebuttal.id).exists()
    waiting = Submission.ref.in_(select(Rebuttal.submission_ref).where(~answered))
    return _entries(session, competition_id, waiting, limit=limit)


def unfinished_on(session: Session, track: Track, *, limit: int) -> OpenEntries:
    jobs = select(Job.submission_ref).where(Job.track_id == track.id, Job.queue.in_((Queue.DRAW, Queue.SCORE)))
    unfinished = Submission.ref.in_(jobs.where(Job.state.in_(UNFINISHED)))
    return _entries(session, track.competition_id, unfinished, limit=limit)


def named_entries(session: Session, competition_id: int, refs: Collection[int]) -> Sequence[OpenEntry]:
    return (
        _entries(session, competition_id, Submission.ref == any_(id_list(refs)), limit=len(refs)).first if refs else ()
    )


def _entries(session: Session, competition_id: int, *conditions: ColumnElement[bool], limit: int) -> OpenEntries:
    columns = Submission.ref, Submission.id, Submission.file_name, Team.name, func.count().over()
    query = merges.with_team(select(*columns)).where(Submission.competition_id == competition_id, *conditions)
    rows = session.execute(query.order_by(Submission.ref).limit(limit)).all()
    return OpenEntries(rows[0][-1] if rows else 0, [OpenEntry(*row[:-1]) for row in rows])


def undecided(session: Session, track_id: int, refs: Collection[int]) -> list[Score]:
    """The judged scores on a track of entries that have neither a decided label nor a ruling."""
    scores = judged_entries(track_id=track_id, refs=refs).subquery("scores")
    rows = session.execute(select(scores).where(~_is_labelled(scores.c.ref), ~is_ruled(scores.c.ref)))
    return [Score(*row) for row in rows]


def labelled_without_ruling(
    session: Session, track_id: int, refs: Collection[int], *, labels: Collection[str]
) -> list[Score]:
    """The judged scores on a track of entries with one of ``labels`` as decided label and without a ruling since."""
    scores = judged_entries(track_id=track_id, refs=refs).subquery("scores")
    newest = (
        select(Label.submission_ref, Label.label, Label.created_at)
        .ext(distinct_on(Label.submission_ref))
        .where(Label.submission_ref == any_(id_list(refs)))
        .order_by(Label.submission_ref, Label.id.desc())
        .subquery("newest")
    )
    unruled = newest.c.label.in_(labels) & ~is_ruled_knowing(scores.c.ref, newest.c.created_at)
    rows = session.execute(select(scores).join(newest, newest.c.submission_ref == scores.c.ref).where(unruled))
    return [Score(*row) for row in rows]


class CondemnedEntry(NamedTuple):
    """An entry that is disqualified or labelled as memorising, with its team after merges."""

    id: str
    ref: int
    team_id: int
    disqualified: bool
    since: datetime


def condemned_entries(
    session: Session, competition_id: int, team_ids: Collection[int], *, labels: Collection[str]
) -> list[CondemnedEntry]:
    """The entries of some teams that are disqualified or count as memorising, oldest first. The newest ruling
    disqualifies them or says that they memorise, or their decided label is one of ``labels``."""
    team_id, merged = merges.team_now(Submission.team_id)
    ruling = newest_rows(competition_id, Ruling, Ruling.kind, Ruling.memorising, Ruling.created_at).subquery()
    label = newest_rows(competition_id, Label, Label.label, Label.created_at).subquery()
    disqualified = func.coalesce(ruling.c.kind == "disqualify", False)
    memorises = label.c.label.in_(labels)
    ruled_memorising = (label.c.label == "other") & ruling.c.memorising
    since = func.greatest(
        case((disqualified | ruled_memorising, ruling.c.created_at)), case((memorises, label.c.created_at))
    )
    query = (
        select(Submission.id, Submission.ref, team_id, disqualified, since)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .outerjoin(ruling, ruling.c.submission_ref == Submission.ref)
        .outerjoin(label, label.c.submission_ref == Submission.ref)
        .where(Submission.competition_id == competition_id, team_id == any_(id_list(team_ids)))
        .where(or_(disqualified, memorises, ruled_memorising))
        .order_by(Submission.ref)
    )
    return [CondemnedEntry(*row) for row in session.execute(query)]


def last_ruled(session: Session, refs: Collection[int]) -> dict[int, datetime]:
    newest: Any = select(Ruling.submission_ref, func.max(Ruling.created_at)).group_by(Ruling.submission_ref)
    return dict(session.execute(newest.where(Ruling.submission_ref == any_(id_list(refs)))).all())


def _is_labelled(ref: Any) -> ColumnElement[bool]:
    return select(Label.id).where(Label.submission_ref == ref).exists()
