"""Whether a running worker has the weights of an extractor, and what to do if none has.

Without a worker that prepares references nothing is known, and work waits.
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
"""The extractors of a new competition's tracks where none is named, as in Bai et al. 2021."""


def preparing_workers(session: Session) -> Sequence[WorkerReport]:
    """The reports of the running workers that prepare references."""
    return [report for report in worker_reports.recent_reports(session) if Queue.PREPARE in report.queues]


def missing_weights(extractor: str, workers: Sequence[WorkerReport]) -> str | None:
    """That none of these workers has the weights of an extractor, with the command that installs them, as part of a
    sentence; None if one has them, or there is no worker."""
    spec = find_extractor(extractor)
    if not workers or _is_installed(spec, workers):
        return None
    names = ", ".join(report.worker for report in workers)
    return (
        f"no running worker has the weights of {spec.name}: the operator runs `{spec.installation}` where {names} runs "
        "(docs/how-to/weights.md); workers notice within a minute"
    )


def require_worker_with_weights(session: Session, extractor: str) -> None:
    """``Conflict`` (``no-worker-with-weights``) if workers that prepare references run and none of them has the weights
    of ``extractor``, with the command that installs them."""
    fault = missing_weights(extractor, preparing_workers(session))
    if fault is not None:
        raise Conflict("no-worker-with-weights", f"{fault[0].upper()}{fault[1:]}. Or choose another extractor.")


def installed_defaults(workers: Sequence[WorkerReport]) -> dict[TrackKind, str]:
    """The default extractors by track, without those whose weights no worker has."""
    return {kind: name for kind, name in DEFAULT_EXTRACTORS.items() if _is_installed(find_extractor(name), workers)}


def require_default(session: Session, kind: TrackKind) -> ExtractorSpec:
    """The extractor of a track for which none is named. ``Invalid`` (``extractor-not-named``) if no running worker has
    the weights of the default, with the extractors that are installed and the commands that install the defaults."""
    workers = preparing_workers(session)
    name = installed_defaults(workers).get(kind)
    if name is not None:
        return find_extractor(name)
    installed = [spec.identity for spec in EXTRACTORS.values() if _is_installed(spec, workers)]
    commands = " and ".join(f"`{find_extractor(DEFAULT_EXTRACTORS[each]).installation}`" for each in TRACK_KINDS)
    raise Invalid(
        "extractor-not-named",
        f"Name the extractor of the {kind} track: no running worker has the weights of its default, "
        f"{DEFAULT_EXTRACTORS[kind]}. Installed: {', '.join(installed) or 'none, because no worker runs'}. To install "
        f"the defaults, the operator runs {commands} (docs/how-to/weights.md).",
    )


def _is_installed(spec: ExtractorSpec, workers: Sequence[WorkerReport]) -> bool:
    return any(spec.identity in report.extractors or spec.architecture is None for report in workers)
