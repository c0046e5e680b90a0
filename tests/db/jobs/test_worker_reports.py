"""Reports of workers: renewed, forgotten once they are old, removed at the end."""

from sqlalchemy import func, update
from sqlalchemy.orm import Session

from scorer.db.jobs import worker_reports
from scorer.db.tables import WorkerReport


def write(session: Session, worker: str, **changes: object) -> None:
    """Write a report with usual values."""
    usual = {"version": "1", "migration": "0046", "queues": ["score", "check"], "extractors": {"tiny@1": "ab"}}
    worker_reports.write_report(session, worker, **{**usual, **changes})  # type: ignore[arg-type]


def test_a_report_is_renewed_and_removed(session: Session) -> None:
    write(session, "b@host", version="0")
    write(session, "a@host")
    write(session, "b@host")
    assert [
        (report.worker, report.version, report.queues, report.extractors)
        for report in worker_reports.recent_reports(session)
    ] == [(worker, "1", ["check", "score"], {"tiny@1": "ab"}) for worker in ("a@host", "b@host")]
    worker_reports.remove_report(session, "a@host")
    assert [report.worker for report in worker_reports.recent_reports(session)] == ["b@host"]


def test_an_old_report_does_not_count(session: Session) -> None:
    write(session, "a@host")
    session.execute(update(WorkerReport).values(reported_at=func.now() - worker_reports.MAX_AGE))
    assert worker_reports.recent_reports(session) == []
    write(session, "a@host")
    assert len(worker_reports.recent_reports(session)) == 1
