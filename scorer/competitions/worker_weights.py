"""Whether a running worker has the weights of an extractor, and the fix if none has.

Without a worker that prepares references this is unknown, and jobs wait.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sqlalchemy.orm import Session

from scorer.db.jobs import worker_reports
from scorer.db.tables import WorkerReport
from scorer.errors import Conflict, Invalid
from scorer.extractor_catalogue import EXTRACTORS, ExtractorSpec, find_extractor
from scorer.lifecycle import TRACK_KINDS, Queue, TrackKind

DEFAULT_EXTRACTORS: Mapping[TrackKind, str] = MappingProxyType({"public": "inception_v3", "private": "nasnetalarge"})
"""The default extractors of a new competition's tracks, from Bai et al. 2021."""


def preparing_workers(session: Session) -> Sequence[WorkerReport]:
    """Return the reports of the running workers that prepare references."""
    return [report for report in worker_reports.recent_reports(session) if Queue.PREPARE in report.queues]


def missing_weights(extractor: str, workers: Sequence[WorkerReport]) -> str | None:
    """Return a clause with the command that installs an extractor's weights; None if a worker has them, or there is no
    worker."""
    spec = find_extractor(extractor)
    if not workers or _is_installed(spec, workers):
        return None
    names = ", ".join(report.worker for report in workers)
    return (
        f"no running worker has the weights of {spec.name}; the operator can install them with `{spec.installation}` "
        f"on the machine of {names} (docs/how-to/weights.md), and workers find them within a minute"
    )


def require_worker_with_weights(session: Session, extractor: str) -> None:
    """``Conflict`` (``no-worker-with-weights``) if workers that prepare references run, but none has the weights."""
    fault = missing_weights(extractor, preparing_workers(session))
    if fault is not None:
        raise Conflict(
            "no-worker-with-weights", f"{fault[0].upper()}{fault[1:]}. Alternatively, choose another extractor."
        )


def installed_defaults(workers: Sequence[WorkerReport]) -> dict[TrackKind, str]:
    """Return the default extractors by track for which a worker has the weights."""
    return {kind: name for kind, name in DEFAULT_EXTRACTORS.items() if _is_installed(find_extractor(name), workers)}


def require_default(session: Session, kind: TrackKind) -> ExtractorSpec:
    """``Invalid`` (``extractor-not-named``) if no running worker has the weights."""
    workers = preparing_workers(session)
    name = installed_defaults(workers).get(kind)
    if name is not None:
        return find_extractor(name)
    installed = [spec.identity for spec in EXTRACTORS.values() if _is_installed(spec, workers)]
    commands = " and ".join(f"`{find_extractor(DEFAULT_EXTRACTORS[track]).installation}`" for track in TRACK_KINDS)
    raise Invalid(
        "extractor-not-named",
        f"Name the extractor of the {kind} track, because no running worker has the weights of the default, "
        f"{DEFAULT_EXTRACTORS[kind]}. Installed: {', '.join(installed) or 'none, because no worker is running'}. "
        f"The operator can install the defaults with {commands} (docs/how-to/weights.md).",
    )


def _is_installed(spec: ExtractorSpec, workers: Sequence[WorkerReport]) -> bool:
    return any(spec.identity in report.extractors or spec.architecture is None for report in workers)
