"""The ``prepare`` job: computes a track's reference (features and statistics) from its reference sets."""

from sqlalchemy.orm import Session

from scorer.competitions import preparations, shown_tracks
from scorer.db import competitions
from scorer.db.tables import Preparation
from scorer.jobs import leases
from scorer.jobs.broker import transaction
from scorer.rescoring import campaigns
from scorer.tuning import extractor_comparison
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.recording import record_result
from worker.scoring.reference_features import (
    SetAddress,
    prepare_reference,
)


def prepare_references(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Prepare a track's reference and record it, with the track's first threshold; continue what waited for it."""
    with transaction(context.sessions, context.broker) as session:
        preparation = session.get_one(Preparation, claim.preparation_id)
        reference_rows = competitions.reference_sets(session, preparation.reference_set_ids)
        held_out_rows = (
            []
            if preparation.held_out_set_id is None
            else competitions.reference_sets(session, [preparation.held_out_set_id])
        )
    sets, held_out = (
        [SetAddress(row.sha256, row.blob_key, preparation.image_size) for row in rows]
        for rows in (reference_rows, held_out_rows)
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

    def record(session: Session) -> bool:
        recorded = preparations.record_preparation(session, claim, **vars(prepared), now=context.now())
        if recorded:
            extractor_comparison.continue_comparisons(session, preparation.id, now=context.now())
            campaigns.continue_campaigns(session, preparation.id, now=context.now())
            shown_tracks.queue_prepared(session, preparation.id, now=context.now())
        return recorded

    record_result(context, heartbeat, record)
