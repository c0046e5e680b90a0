"""Prepares the reference sets of a track: features, statistics, thumbnails."""

from scorer.competitions import reference_sets as reference_rows
from scorer.db import competitions
from scorer.db.tables import Preparation
from scorer.jobs import leases
from scorer.jobs.broker import transaction
from scorer.tuning import extractor_comparison
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.scoring.reference_features import (
    SetAddress,
    prepare_reference,
)


def prepare_references(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Prepare a track's references, and set its first threshold."""
    with transaction(context.sessions, context.broker) as session:
        preparation = session.get_one(Preparation, claim.preparation_id)
        rows = competitions.reference_sets(session, preparation.reference_set_ids)
        fresh = (
            []
            if preparation.held_out_set_id is None
            else competitions.reference_sets(session, [preparation.held_out_set_id])
        )
    sets, held_out = (
        [SetAddress(each.sha256, each.blob_key, preparation.image_size) for each in group] for group in (rows, fresh)
    )
    prepared = prepare_reference(
        context,
        preparation.key,
        preparation.extractor,
        sets,
        held_out[0] if held_out else None,
        signed=preparation.signed,
        progress=heartbeat,
    )
    with transaction(context.sessions, context.broker) as session:
        if reference_rows.record_preparation(session, claim, **vars(prepared), now=context.now()):
            extractor_comparison.continue_comparisons(session, preparation.id, now=context.now())
