"""SQL for pauses: the queues, competitions and workers that currently take no jobs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Subquery, exists, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db import rescoring
from scorer.db.tables import Account, Competition, Job, Pause, Submission

ALL_WORKERS = "*"


class ActivePauses(NamedTuple):
    queues: frozenset[str] = frozenset()
    competition_ids: frozenset[int] = frozenset()
    workers: frozenset[str] = frozenset()
    """Machines, processes (``machine:pid``), or ``*`` for all."""
    campaign_ids: frozenset[int] = frozenset()

    def stops_worker(self, worker: str) -> bool:
        """Whether a worker process (``machine:pid``) must not take jobs."""
        return not self.workers.isdisjoint({worker, worker.rpartition(":")[0], ALL_WORKERS})


@dataclass(frozen=True)
class ListedPause:
    """A pause in effect, with the names of its subject and of the person who decided it."""

    queue: str | None
    competition: str | None
    worker: str | None
    reason: str
    author: str | None
    created_at: datetime


def active_pauses(session: Session) -> ActivePauses:
    rows = session.execute(_paused()).all()
    return ActivePauses(
        frozenset(row.queue for row in rows if row.queue is not None),
        frozenset(row.competition_id for row in rows if row.competition_id is not None),
        frozenset(row.worker for row in rows if row.worker is not None),
        rescoring.paused_campaigns(session),
    )


@lru_cache  # every claim needs it; building it takes longer than running it
def _paused() -> Select[Any]:
    newest = _newest_pauses()
    return select(newest.c.queue, newest.c.competition_id, newest.c.worker).where(newest.c.paused)


def list_pauses(session: Session) -> Sequence[ListedPause]:
    newest = _newest_pauses()
    rows = session.execute(
        select(newest.c.queue, Competition.slug, newest.c.worker, newest.c.reason, Account.handle, newest.c.created_at)
        .outerjoin(Competition, Competition.id == newest.c.competition_id)
        .outerjoin(Account, Account.id == newest.c.author_id)
        .where(newest.c.paused)
        .order_by(newest.c.id.desc())
    )
    return [ListedPause(*row) for row in rows]


def paused_among(session: Session, job_ids: Collection[int]) -> frozenset[int]:
    """The jobs that no worker currently takes."""
    paused = active_pauses(session) if job_ids else ActivePauses()
    if ALL_WORKERS in paused.workers:
        return frozenset(job_ids)
    conditions = is_claimable(paused)
    if not conditions:
        return frozenset()
    return frozenset(job_ids) - set(session.scalars(select(Job.id).where(Job.id.in_(job_ids), *conditions)))


def is_claimable(paused: ActivePauses) -> list[ColumnElement[bool]]:
    """Conditions for jobs that are not paused. Subjects without a pause get no condition, so that query plans do not
    change."""
    conditions: list[ColumnElement[bool]] = []
    if paused.queues:
        conditions.append(Job.queue.not_in(paused.queues))
    if paused.competition_ids:
        of_paused = Submission.competition_id.in_(paused.competition_ids)
        conditions.append(~exists().where(Submission.ref == Job.submission_ref, of_paused))
    if paused.campaign_ids:
        conditions.append(or_(Job.campaign_id.is_(None), Job.campaign_id.not_in(paused.campaign_ids)))
    return conditions


def _newest_pauses() -> Subquery:
    """The newest row about each queue, competition and worker."""
    subject: tuple[Any, ...] = (Pause.queue, Pause.competition_id, Pause.worker)
    return select(Pause).ext(distinct_on(*subject)).order_by(*subject, Pause.id.desc()).subquery()
