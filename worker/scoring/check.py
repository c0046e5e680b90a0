"""The ``check`` job: the deep check of a submission, and hashes of its images for comparisons with other teams."""

from functools import partial

import numpy as np

from scorer.db import competitions
from scorer.db.tables import Submission
from scorer.errors import Invalid
from scorer.jobs import leases
from scorer.submissions import outcomes
from scorer.submissions.files import stored_zip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.recording import record_result
from worker.scoring import entry_images
from worker.scoring.generators import check_generator


def check_submission(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Decode every image, compare pixel hashes with those of the training images, then accept or reject; or check the
    generator."""
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        training = competitions.load_references(session, submission.competition_id)["train"].reference_set
    if submission.competition.entries == "generator":
        check_generator(context, claim, heartbeat)
        return
    stored = stored_zip(submission)
    try:
        entry_images.require_clean(context, submission)
        spec = decoded_images.build_image_spec(submission)
        hashes = decoded_images.decode_zip(context, stored, spec, progress=partial(heartbeat, "checking"))
    except Invalid as fault:
        record_result(heartbeat, outcomes.reject, fault)
        return
    copies = entry_images.find_copies(context, submission, training, hashes=hashes)
    images = np.load(decoded_images.build_pixels_path(context.scratch, stored.name), mmap_mode="r")
    passed = partial(
        outcomes.pass_check,
        pixels_sha256=entry_images.content_sha256(hashes),
        sprite_key=entry_images.store_sprite_sheet(context, submission, [images]),
        hashes_key=entry_images.store_hashes(context, submission, images, hashes=hashes),
    )
    record_result(heartbeat, passed, copies)
