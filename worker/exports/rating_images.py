"""The ``ratings`` job: creates the pictures of a rating study, one per item, with the pictures of an entry in one blob.

Thousands of entries take a long time, so the job yields to public scores and continues later: a description of an
entry's items is stored next to its blob. The cleanup removes these descriptions, like all blobs that no item names.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.archive import ImageSpec, list_images, read_images_at
from scorer.archive.sprite_sheet import TILE, tile_images
from scorer.db.submissions import submissions
from scorer.db.tables import RatingStudy, Submission
from scorer.errors import Invalid
from scorer.insights import human_ratings
from scorer.jobs import leases
from scorer.submissions.files import StoredZip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import preemptible
from worker.runtime.recording import record_result


def make_rating_images(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Create the items of the claimed study and record them. Raises ``LeaseLost`` if another worker has the job,
    ``Preempted`` when a public score waits.
    """
    with context.transaction() as session:
        study = session.get_one(RatingStudy, claim.job.study_id)
        entries = submissions.submissions_by_ref(session, study.submission_refs)
    items: list[dict[str, Any]] = []
    progress = preemptible(context, heartbeat)
    for done, entry in enumerate(entries):
        progress("packing", done / len(entries))
        description = f"ratings/{study.id}/{entry.id}.json"
        if context.blobs.exists(description):
            items += json.loads(context.blobs.read(description))
        elif (stored := decoded_images.find_images(context, entry)) is not None:
            made = _store_images(context, study, entry, stored=stored)
            context.blobs.write(description, json.dumps(made).encode())
            items += made
    if not items:
        raise Invalid("no-images", "No images of these entries are stored.")
    order = np.random.default_rng(study.seed).permutation(len(items))
    shuffled = [items[index] for index in order]
    record_result(heartbeat, human_ratings.record_items, shuffled)


def _store_images(
    context: WorkerContext, study: RatingStudy, entry: Submission, *, stored: StoredZip
) -> list[dict[str, Any]]:
    """The items of one entry. Their pictures are stored in one blob, one after the other."""
    spec = ImageSpec(count=entry.competition.image_count, size=entry.competition.image_size)
    chosen = _choose_images(study, entry.ref, spec.count)
    wanted = sorted({index for _, indexes in chosen for index in indexes})
    with context.blobs.open(stored.key) as file:
        images = dict(zip(wanted, read_images_at(file, list_images(file, spec), spec, indexes=wanted), strict=True))
    key = f"ratings/{study.id}/{entry.id}.bin"
    items = []
    content = bytearray()
    for kind, indexes in chosen:
        picture = _picture([images[index] for index in indexes], study.side, spec.size)
        place = {"blob_key": key, "start": len(content), "length": len(picture)}
        items.append({"kind": kind, "submission_ref": entry.ref, "images": indexes, **place})
        content += picture
    context.blobs.write(key, bytes(content))
    return items


def _choose_images(study: RatingStudy, ref: int, count: int) -> list[tuple[str, list[int]]]:
    """Draw the items without replacement: single images, and the images within each grid."""
    rng = np.random.default_rng([study.seed, ref])
    single = rng.choice(count, study.images, replace=False)
    grids = [rng.choice(count, study.side**2, replace=False) for _ in range(study.grids)]
    return [
        *(("realism", [int(index)]) for index in single),
        *(("diversity", [int(index) for index in grid]) for grid in grids),
    ]


def _picture(images: Sequence[NDArray[np.uint8]], side: int, size: int) -> bytes:
    if len(images) == 1:
        return tile_images(images, columns=1, tile=size)
    return tile_images(images, columns=side, tile=min(size, TILE))
