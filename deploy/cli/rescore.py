"""``kennel rescore``: measure a recorded submission again, with the service's own database and store."""

from pathlib import Path
from typing import Any

from deploy.standalone.data_folder import load_settings, with_own_scratch
from kennel_client.cli.receipts import redrawn_lines
from scorer.blobs import open_blobs
from scorer.db.session import connected
from scorer.jobs.broker import create_celery_app
from scorer.progress import StageProgress
from worker.runtime.context import WorkerContext
from worker.scoring.redraw import draw_document
from worker.scoring.rescore import RepeatedMeasurement, rescore


def rescore_submission(
    submission_id: str, *, data: Path | None, verify: bool, progress: StageProgress
) -> tuple[list[dict[str, Any]], bool]:
    """The new measurements by track, as ``kennel rescore --json`` prints them, and whether all equal the recorded ones.

    Finds the service through the environment, or its data folder. Raises as :func:`worker.scoring.rescore.rescore`
    does.
    """
    settings = with_own_scratch(load_settings(data))
    with connected(settings) as sessions:
        context = WorkerContext(settings, create_celery_app(settings), sessions, open_blobs(settings))
        try:
            tracks = rescore(context, submission_id, verify=verify, progress=progress)
        finally:
            context.broker.close()
    return [_track_json(track) for track in tracks], all(track.equal for track in tracks)


def _track_json(repeated: RepeatedMeasurement) -> dict[str, Any]:
    recorded = repeated.recorded.row
    scores = repeated.scores
    comparison = repeated.comparison
    track = {
        "track": repeated.recorded.track,
        "extractor": recorded.provenance["extractor"],
        "fid": scores.fid,
        "memorization_distance": scores.memorization_distance,
        "distance_se": repeated.standard_error,
        "recorded": {"fid": recorded.fid, "memorization_distance": recorded.memorization_distance},
        "differences": list(repeated.differences),
    }
    if comparison is not None:
        track |= {
            "verdict": str(comparison),
            "equal": comparison.equal,
            "relative": comparison.relative,
            "images_that_differ": comparison.images,
            "draws": [draw_document(draw) for draw in repeated.draws],
        }
    return track


def track_lines(track: dict[str, Any], *, verified: bool) -> list[str]:
    """A track as lines of text; with ``verified``, also the recorded numbers and the comparison."""
    lines = [f"{track['track']} ({track['extractor']})"]
    for name in ("fid", "memorization_distance"):
        recorded = f"   recorded {track['recorded'][name]!r}" if verified else ""
        lines.append(f"  {name.replace('_', ' '):<22} {track[name]!r}{recorded}")
    if verified:
        images = track["images_that_differ"]
        lines.append(f"  {track['verdict']}" + (f"; {images:,} image(s) differ" if images else ""))
    notes = [f"  note: {difference}" for difference in track["differences"]]
    return lines + notes + [f"  {line}" for line in redrawn_lines(track.get("draws", ()))]
