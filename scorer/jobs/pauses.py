"""Pauses: stop a queue, a competition or a worker from taking jobs, and resume it. Running jobs continue."""

from dataclasses import asdict, dataclass

from scorer import audit_log
from scorer.acting import Acting
from scorer.db import competitions
from scorer.db.jobs import pauses
from scorer.db.tables import Pause
from scorer.errors import Conflict, Invalid, NotFound
from scorer.lifecycle import Queue


@dataclass(frozen=True)
class PauseSubject:
    """The subject of a pause: a queue, a competition or a worker.

    ``competition`` is a slug and means the jobs of its entries. ``worker`` is a machine, a process (``machine:pid``) or
    ``*`` for all; a paused worker is drained.
    """

    queue: str | None = None
    competition: str | None = None
    worker: str | None = None

    @property
    def name(self) -> str:
        """The name in the audit log: ``queue:score``, ``competition:dogs``, ``worker:gpu-1``."""
        return next(f"{kind}:{value}" for kind, value in asdict(self).items() if value is not None)


def set_paused(acting: Acting, subject: PauseSubject, *, paused: bool, reason: str) -> None:
    """Pause or resume. ``Invalid`` unless exactly one subject is named, ``NotFound`` for an unknown queue or
    competition, ``Conflict`` if nothing would change."""
    if sum(value is not None for value in asdict(subject).values()) != 1:
        raise Invalid("pause-subject", "Name exactly one queue, competition or worker.")
    if subject.queue is not None and subject.queue not in {queue.value for queue in Queue}:
        raise NotFound("no-queue", f"There is no queue {subject.queue!r}. The queues are {', '.join(Queue)}.")
    competition_id = None
    if subject.competition is not None:
        competition = competitions.competition_by_slug(acting.session, subject.competition)
        if competition is None:
            raise NotFound("no-competition", f"There is no competition {subject.competition!r}.")
        competition_id = competition.id
    holds = pauses.active_pauses(acting.session)
    is_paused = (
        subject.queue in holds.queues or competition_id in holds.competition_ids or subject.worker in holds.workers
    )
    if is_paused is paused:
        raise Conflict("pause-unchanged", f"{subject.name} is {'already paused' if paused else 'not paused'}.")
    acting.add(
        Pause(queue=subject.queue, competition_id=competition_id, worker=subject.worker, paused=paused, reason=reason)
    )
    action = "jobs.paused" if paused else "jobs.resumed"
    audit_log.record_action(acting, action, subject.name, after={"reason": reason})
