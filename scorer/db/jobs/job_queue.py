"""The queue's truth, in SQL: who is next, who holds what, what is stuck."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import CursorResult, func, insert, literal, or_, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.tables import Job, Submission
from scorer.db.teams import merges
from scorer.lifecycle import UNFINISHED, JobState, Queue, Status

ORDER = (Job.priority, Job.turn, Job.id)
"""The one order of waiting work: what is claimed and what is shown as queue position."""


def claim_next(
    session: Session, queue: Queue, *, holder: str, worker: str, now: datetime, lease_until: datetime
) -> Job | None:
    """Take the fairest due job of a queue for ``holder``; None when nothing is due."""
    due = (
        select(Job.id)
        .where(Job.queue == queue, Job.state == JobState.WAITING, Job.due_at <= now)
        .order_by(*ORDER)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    return session.scalars(
        update(Job)
        .where(Job.id == due)
        .values(
            state=JobState.RUNNING,
            holder=holder,
            worker=worker,
            lease_until=lease_until,
            attempts=Job.attempts + 1,
            started_at=now,
            stage=None,
            fraction=None,
        )
        .returning(Job)
    ).one_or_none()


def update_held(session: Session, job_id: int, held_by: str, **values: object) -> bool:
    """Change a job only while ``held_by`` still holds it; False means the lease went to somebody else."""
    result = session.execute(
        update(Job).where(Job.id == job_id, Job.holder == held_by, Job.state == JobState.RUNNING).values(**values)
    )
    return isinstance(result, CursorResult) and result.rowcount == 1


def lock_held(session: Session, job_id: int, holder: str) -> Job | None:
    """The job, locked for this transaction, if ``holder`` still holds it."""
    held = select(Job).where(Job.id == job_id, Job.holder == holder, Job.state == JobState.RUNNING)
    return session.scalars(held.with_for_update(of=Job)).one_or_none()


def lock_unfinished(session: Session, submission_ref: int) -> Sequence[Job]:
    """Every job of a submission that has not ended, locked for this transaction: no worker can take or end it, and
    only a worker that ends one adds the next."""
    unfinished = select(Job).where(Job.submission_ref == submission_ref, Job.state.in_(UNFINISHED)).order_by(Job.id)
    locking = unfinished.with_for_update(of=Job).execution_options(populate_existing=True)
    session.scalars(locking).all()
    # A job that ended while we waited for its lock has left a next one, which only a new statement sees.
    return session.scalars(locking).all()


def cancel_unfinished(session: Session, submission_ref: int, now: datetime) -> None:
    """End every job of a submission that has not ended; a worker that holds one finds out and drops its result."""
    session.execute(
        update(Job)
        .where(Job.submission_ref == submission_ref, Job.state.in_(UNFINISHED))
        .values(state=JobState.CANCELLED, holder=None, lease_until=None, stage=None, fraction=None, finished_at=now)
    )


def lock_expired(session: Session, now: datetime) -> Sequence[Job]:
    """Running jobs whose worker has not been heard of within the lease, locked for this transaction."""
    return session.scalars(
        select(Job)
        .where(Job.state == JobState.RUNNING, Job.lease_until < now)
        .with_for_update(skip_locked=True, of=Job)
    ).all()


def count_due(session: Session, now: datetime) -> dict[Queue, int]:
    """How many jobs wait and are due, by queue."""
    counted = session.execute(
        select(Job.queue, func.count()).where(Job.state == JobState.WAITING, Job.due_at <= now).group_by(Job.queue)
    )
    return {Queue(queue): count for queue, count in counted}


def next_turn(session: Session, queue: Queue, priority: int, team_id: int | None) -> int:
    """The turn of a team's next job: right after the team's own last one, and no earlier than the job that is
    next now. So a team's tenth entry waits behind another team's first, and nobody is overtaken for ever.
    """
    lane = (Job.queue == queue) & (Job.priority == priority)
    current = select(func.min(Job.turn)).where(lane, Job.state == JobState.WAITING).scalar_subquery()
    unfinished = Job.state.in_(UNFINISHED)
    own = select(func.max(Job.turn) + 1).where(lane, Job.team_id == team_id, unfinished).scalar_subquery()
    turn = session.scalar(select(func.greatest(func.coalesce(current, 0), func.coalesce(own, 0))))
    return int(turn or 0)


def add_for_track(session: Session, competition_id: int, track_id: int, *, now: datetime) -> int:
    """A waiting job on a private track for every scored entry that is not late, in turns between teams; how many."""
    merged = merges.newest_merges()
    team = func.coalesce(merged.c.into_team_id, Submission.team_id)
    entries = (
        select(
            literal(Queue.SCORE.value),
            Submission.ref,
            literal(track_id),
            team,
            literal(JobState.WAITING.value),
            literal(1),
            func.row_number().over(partition_by=team, order_by=Submission.ref),
            literal(now),
            literal(0),
            literal(now),
        )
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .where(Submission.competition_id == competition_id, Submission.status == Status.SCORED, ~Submission.late)
    )
    columns = (
        "queue", "submission_ref", "track_id", "team_id", "state", "priority", "turn", "due_at", "attempts",
        "created_at",
    )  # fmt: skip
    made = session.execute(insert(Job).from_select(columns, entries))
    return made.rowcount if isinstance(made, CursorResult) else 0


def cancel_on_track(session: Session, track_id: int, now: datetime) -> None:
    """End every job on a track that has not ended: nobody needs its result any more."""
    session.execute(
        update(Job)
        .where(Job.track_id == track_id, Job.state.in_(UNFINISHED))
        .values(state=JobState.CANCELLED, holder=None, lease_until=None, stage=None, fraction=None, finished_at=now)
    )


def waits_since(session: Session, queue: Queue, before: datetime) -> bool:
    """Whether work of a queue that everyone sees has been due since ``before`` and nobody has taken it."""
    waiting = select(Job.id).where(
        Job.queue == queue, Job.state == JobState.WAITING, Job.priority == 0, Job.due_at <= before
    )
    return session.scalar(waiting.limit(1)) is not None


def states_on_track(session: Session, track_id: int) -> dict[JobState, int]:
    """How many entries' newest scoring jobs on a track are in which state."""
    newest = (
        select(Job.state)
        .ext(distinct_on(Job.submission_ref))
        .where(Job.track_id == track_id, Job.queue == Queue.SCORE)
        .order_by(Job.submission_ref, Job.id.desc())
        .subquery()
    )
    counted = session.execute(select(newest.c.state, func.count()).group_by(newest.c.state))
    return {JobState(state): count for state, count in counted}


def jobs_of(session: Session, submission_ref: int) -> Sequence[Job]:
    """All jobs of a submission, oldest first."""
    return session.scalars(select(Job).where(Job.submission_ref == submission_ref).order_by(Job.id)).all()


def job_of_preparation(session: Session, preparation_id: int) -> Job | None:
    """The newest job of a preparation."""
    return session.scalars(
        select(Job).where(Job.preparation_id == preparation_id).order_by(Job.id.desc()).limit(1)
    ).one_or_none()


def position_of(session: Session, job: Job) -> int:
    """How many jobs of the same queue are claimed before this waiting one, plus one."""
    earlier = or_(
        Job.priority < job.priority,
        (Job.priority == job.priority) & (Job.turn < job.turn),
        (Job.priority == job.priority) & (Job.turn == job.turn) & (Job.id < job.id),
    )
    ahead = session.scalar(
        select(func.count()).where(Job.queue == job.queue, Job.state == JobState.WAITING).where(earlier)
    )
    return int(ahead or 0) + 1


def positions_of(session: Session, job_ids: Collection[int]) -> dict[int, int]:
    """:func:`position_of` for many waiting public jobs at once, by id; a job that no longer waits has none."""
    if not job_ids:
        return {}
    place = func.row_number().over(partition_by=Job.queue, order_by=ORDER).label("place")
    line = select(Job.id, place).where(Job.state == JobState.WAITING, Job.priority == 0).subquery()
    found = session.execute(select(line.c.id, line.c.place).where(line.c.id.in_(job_ids)))
    return {row.id: row.place for row in found}
