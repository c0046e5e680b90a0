"""SQL for the job queue: claiming the next job, leases, the fair order, queue positions.

Only the database's clock decides whether a job is due or a lease has expired, because the clocks of workers and web
processes differ.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Interval,
    Select,
    Subquery,
    and_,
    any_,
    bindparam,
    exists,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.orm import Session, aliased
from sqlalchemy.sql.dml import ReturningUpdate

from scorer.db.jobs.pauses import ActivePauses, active_pauses, is_claimable
from scorer.db.newest_rows import newest_row
from scorer.db.session import count_changed
from scorer.db.tables import Job, Submission
from scorer.db.teams import merges
from scorer.lifecycle import UNFINISHED, JobState, Queue

NO_PAUSES = ActivePauses()
SEEN_WITHIN = timedelta(minutes=10)
"""A worker counts as alive if it has finished one of the ``RECENT_JOBS`` within this time."""
RECENT_JOBS = 100
SHOWN_PRIORITY = 2
"""The priority of jobs that measure on shown tracks. They wait behind public (0) and private (1) jobs of their
queue."""
SCORING = Queue.DRAW, Queue.SCORE
"""The queues whose jobs lead to the score of a track."""
ORDER = (Job.priority, Job.turn, Job.id)
"""The order of waiting jobs, for claiming them and for counting queue positions."""


def due_in(delay: timedelta = timedelta()) -> ColumnElement[datetime]:
    """When a job that waits for ``delay`` becomes due, on the database's clock."""
    return func.now() + delay


def claim_next(
    session: Session,
    queue: Queue,
    *,
    holder: str,
    worker: str,
    now: datetime,
    lease: timedelta,
    paused: ActivePauses = NO_PAUSES,
) -> Job | None:
    """Claim the first due job of a queue that is not ``paused`` for ``holder``, for the duration of the ``lease``. None
    if there is no such job.

    A job that has failed on ``worker`` is left to other workers, as long as any are alive.
    """
    claimed = {"of_queue": queue, "by": holder, "on": worker, "at": now, "for_": lease}
    return session.scalars(_claim(paused), claimed).one_or_none()


@lru_cache(maxsize=64)  # building the statement takes longer than running it
def _claim(paused: ActivePauses) -> ReturningUpdate[Job]:
    queue, worker = bindparam("of_queue", type_=Job.queue.type), bindparam("on", type_=Job.worker.type)
    other = aliased(Job)
    runs = (other.state == JobState.RUNNING) & (other.lease_until > func.now())
    running = exists().where(runs, other.queue == queue, other.worker != worker)
    recent = (
        select(Job.queue, Job.worker)
        .where(Job.finished_at > func.now() - SEEN_WITHIN)
        .order_by(Job.finished_at.desc())
        .limit(RECENT_JOBS)
        .subquery()
    )
    others = or_(running, exists().where(recent.c.queue == queue, recent.c.worker != worker))
    has_failed_here = and_(Job.error.is_not(None), Job.worker.is_not_distinct_from(worker))
    due = (
        select(Job.id)
        .where(Job.queue == queue, Job.state == JobState.WAITING, Job.due_at <= func.now())
        .where(not_(has_failed_here) | ~others, *is_claimable(paused))
        .order_by(*ORDER)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    return (
        update(Job)
        .where(Job.id == due)
        .values(
            state=JobState.RUNNING,
            holder=bindparam("by"),
            worker=worker,
            lease_until=func.now() + bindparam("for_", type_=Interval()),
            attempts=Job.attempts + 1,
            started_at=bindparam("at"),
            stage=None,
            fraction=None,
        )
        .returning(Job)
        # These parameters have no values that the session could evaluate, so the row's new values are read from the
        # database.
        .execution_options(synchronize_session=False, populate_existing=True)
    )


def renew_lease(
    session: Session, job_id: int, holder: str, *, lease: timedelta, stage: str | None, fraction: float | None
) -> bool:
    """Extend ``holder``'s hold on a job to a ``lease`` from now, and record its progress. False if it has lost the
    job."""
    return update_held(session, job_id, holder, lease_until=func.now() + lease, stage=stage, fraction=fraction)


def update_held(session: Session, job_id: int, held_by: str, **values: object) -> bool:
    """Change a job if ``held_by`` still holds it; False if not, because its lease has expired."""
    held = update(Job).where(Job.id == job_id, Job.holder == held_by, Job.state == JobState.RUNNING)
    return count_changed(session, held.values(**values)) == 1


def lock_held(session: Session, job_id: int, holder: str) -> Job | None:
    """The job, locked for this transaction, if ``holder`` still holds it."""
    held = select(Job).where(Job.id == job_id, Job.holder == holder, Job.state == JobState.RUNNING)
    return session.scalars(held.with_for_update(of=Job)).one_or_none()


def lock_unfinished(session: Session, submission_ref: int) -> Sequence[Job]:
    """The unfinished jobs of a submission, locked for this transaction. No worker can claim or finish them, and only a
    worker that finishes one adds the next job."""
    unfinished = select(Job).where(Job.submission_ref == submission_ref, Job.state.in_(UNFINISHED)).order_by(Job.id)
    locking = unfinished.with_for_update(of=Job).execution_options(populate_existing=True)
    session.scalars(locking).all()
    # A job that was finished during the wait for its lock has added the next job, which only a new statement sees.
    return session.scalars(locking).all()


def lock_running_scores(session: Session, track_id: int) -> Sequence[Job]:
    running = select(Job).where(Job.queue == Queue.SCORE, Job.track_id == track_id, Job.state == JobState.RUNNING)
    return session.scalars(running.order_by(Job.id).with_for_update(of=Job)).all()


def cancel_jobs(session: Session, now: datetime, **subject: int | str) -> None:
    """Cancel the unfinished jobs with these values of columns. A worker that holds one notices and drops its result."""
    session.execute(
        update(Job)
        .filter_by(**subject)
        .where(Job.state.in_(UNFINISHED))
        .values(state=JobState.CANCELLED, holder=None, lease_until=None, stage=None, fraction=None, finished_at=now)
    )


def lock_expired(session: Session) -> Sequence[Job]:
    return session.scalars(
        select(Job)
        .where(Job.state == JobState.RUNNING, Job.lease_until < func.now())
        .with_for_update(skip_locked=True, of=Job)
    ).all()


def count_due(session: Session) -> dict[Queue, int]:
    """The number of due jobs that are not paused, by queue."""
    rows = session.execute(
        select(Job.queue, func.count())
        .where(Job.state == JobState.WAITING, Job.due_at <= func.now(), *is_claimable(active_pauses(session)))
        .group_by(Job.queue)
    )
    return {Queue(queue): count for queue, count in rows}


def next_turn(session: Session, queue: Queue, priority: int, *, team_id: int | None) -> int:
    """The turn of a team's next job, which makes the order of teams fair.

    It is one after the team's last job that is unfinished, or has begun since the longest-waiting job was added. It is
    never earlier than the turn of the job that is currently first.

    So a team's tenth entry waits behind another team's first. A team that submits again whenever its entry is scored
    does not overtake another team's second entry.
    """
    return int(session.scalar(_next_turn(), {"of_queue": queue, "of_priority": priority, "team": team_id}) or 0)


@lru_cache
def _next_turn() -> Select[int]:
    in_queue = (Job.queue == bindparam("of_queue", type_=Job.queue.type)) & (Job.priority == bindparam("of_priority"))
    waits = in_queue & (Job.state == JobState.WAITING)
    first = select(func.min(Job.turn)).where(waits).scalar_subquery()
    longest = select(func.min(Job.created_at)).where(waits).scalar_subquery()
    own = select(func.max(Job.turn) + 1).where(in_queue, Job.team_id == bindparam("team"))
    after_unfinished = own.where(Job.state.in_(UNFINISHED)).scalar_subquery()
    after_begun = own.where(Job.started_at > longest).scalar_subquery()
    turns = (func.coalesce(turn, 0) for turn in (first, after_unfinished, after_begun))
    return select(func.greatest(*turns))


def add_in_turns(session: Session, queue: Queue, refs: Collection[int], *, now: datetime, **purpose: int | None) -> int:
    """Add a job behind the public ones for each entry without an unfinished job for the same ``purpose`` (values of
    columns), in turns between teams. Returns how many were added."""
    busy = select(Job.submission_ref).filter_by(queue=queue, **purpose).where(Job.state.in_(UNFINISHED))
    merged = merges.newest_merges()
    team = func.coalesce(merged.c.into_team_id, Submission.team_id)
    entries = select(Submission).outerjoin(merged, merged.c.team_id == Submission.team_id)
    entries = entries.where(
        Submission.ref == any_(bindparam(None, list(refs), type_=ARRAY(BigInteger))), Submission.ref.not_in(busy)
    )
    values = {
        "queue": literal(queue.value),
        "submission_ref": Submission.ref,
        "state": literal(JobState.WAITING.value),
        "priority": literal(SHOWN_PRIORITY if "shown_track_id" in purpose else 1),
        "due_at": due_in(),
        "attempts": literal(0),
        "created_at": literal(now),
        "team_id": team,
        "turn": func.row_number().over(partition_by=team, order_by=Submission.ref),
        **{name: literal(value, type_=BigInteger) for name, value in purpose.items()},
    }
    rows = entries.with_only_columns(*values.values(), maintain_column_froms=True)
    return count_changed(session, insert(Job).from_select(list(values), rows))


def waits_longer(session: Session, queue: Queue, than: timedelta) -> bool:
    """Whether a public job of a queue has been due for longer than ``than``, without being claimed or paused."""
    waiting = select(Job.id).where(
        Job.queue == queue, Job.state == JobState.WAITING, Job.priority == 0, Job.due_at <= func.now() - than
    )
    return session.scalar(waiting.where(*is_claimable(active_pauses(session))).limit(1)) is not None


class Progress(NamedTuple):
    done: int
    waiting: int
    """Includes running ones."""
    failed: int
    error: str | None
    """The error of the job that failed last."""


def load_progress(session: Session, queues: Collection[Queue] = tuple(Queue), **subject: int) -> Progress:
    """The progress of each entry's newest job of ``queues`` with these values of columns."""
    newest = (
        select(Job.state, Job.error, Job.finished_at)
        .ext(distinct_on(Job.submission_ref))
        .where(Job.queue.in_(queues))
        .filter_by(**subject)
        .order_by(Job.submission_ref, Job.id.desc())
        .cte()
    )

    def count(*states: JobState) -> ColumnElement[int]:
        return func.count().filter(newest.c.state.in_(states))

    failed = select(newest.c.error).where(newest.c.state == JobState.FAILED).order_by(newest.c.finished_at.desc())
    columns = count(JobState.DONE), count(*UNFINISHED), count(JobState.FAILED), failed.limit(1).scalar_subquery()
    return Progress(*session.execute(select(*columns).select_from(newest)).one())


def load_jobs(session: Session, submission_ref: int) -> Sequence[Job]:
    return session.scalars(select(Job).where(Job.submission_ref == submission_ref).order_by(Job.id)).all()


def jobs_in_sight(session: Session, refs: Collection[int]) -> Sequence[Job]:
    """The unfinished public jobs of submissions, and all draws and scores behind public ones, oldest first."""
    public = (Job.priority == 0) & Job.state.in_(UNFINISHED)
    behind = (Job.priority > 0) & Job.queue.in_(SCORING)
    return session.scalars(select(Job).where(Job.submission_ref.in_(refs), public | behind).order_by(Job.id)).all()


def newest_job(session: Session, **subject: int | str) -> Job | None:
    return newest_row(session, Job, **subject)


def load_position(session: Session, job: Job) -> int:
    """The queue position of a waiting job; 1 for the next job of its queue."""
    earlier = or_(
        Job.priority < job.priority,
        (Job.priority == job.priority) & (Job.turn < job.turn),
        (Job.priority == job.priority) & (Job.turn == job.turn) & (Job.id < job.id),
    )
    ahead = session.scalar(
        select(func.count()).where(Job.queue == job.queue, Job.state == JobState.WAITING).where(earlier)
    )
    return int(ahead or 0) + 1


def load_positions(session: Session, job_ids: Collection[int]) -> dict[int, int]:
    """The queue positions of public jobs, by id (:func:`load_position`). Jobs that no longer wait are missing."""
    if not job_ids:
        return {}
    positions = _public_positions()
    rows = session.execute(select(positions.c.id, positions.c.place).where(positions.c.id.in_(job_ids)))
    return {row.id: row.place for row in rows}


def load_entry_position(session: Session, ref: int) -> int | None:
    """The queue position of a submission's public job; None if it has no waiting one."""
    positions = _public_positions()
    return session.scalar(select(positions.c.place).where(positions.c.submission_ref == ref).limit(1))


def _public_positions() -> Subquery:
    position = func.row_number().over(partition_by=Job.queue, order_by=ORDER).label("place")
    public = select(Job.id, Job.submission_ref, position).where(Job.state == JobState.WAITING, Job.priority == 0)
    return public.subquery()
