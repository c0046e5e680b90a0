"""SQL for the reports of workers: their versions, queues and weights."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from scorer.db.tables import WorkerReport

INTERVAL = timedelta(minutes=1)
"""How often a running worker renews its report."""
MAX_AGE = 3 * INTERVAL
"""The age up to which a report counts as that of a running worker."""


def write_report(
    session: Session,
    worker: str,
    *,
    version: str,
    migration: str,
    queues: Collection[str],
    extractors: Mapping[str, str],
) -> None:
    """Write or renew the report of ``worker``. ``extractors``: SHA-256 of the weights by ``name@version``."""
    values = {
        "version": version,
        "migration": migration,
        "queues": sorted(queues),
        "extractors": dict(extractors),
        "reported_at": func.now(),
    }
    statement = insert(WorkerReport).values(worker=worker, **values)
    session.execute(statement.on_conflict_do_update(index_elements=[WorkerReport.worker], set_=values))


def remove_report(session: Session, worker: str) -> None:
    session.execute(delete(WorkerReport).where(WorkerReport.worker == worker))


def recent_reports(session: Session) -> Sequence[WorkerReport]:
    """The reports of running workers, sorted by name."""
    recent = select(WorkerReport).where(WorkerReport.reported_at > func.now() - MAX_AGE)
    return session.scalars(recent.order_by(WorkerReport.worker)).all()
