"""Replacing the extractor of the private track.

Measurements belong to a track, so another extractor means a new track without measurements. The old track keeps its
measurements and thresholds.
"""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import preparations
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.preparations import FeatureSpace
from scorer.db import competitions, rescoring, tuning
from scorer.db.jobs import job_queue
from scorer.db.tables import Preparation, Track
from scorer.errors import Conflict
from scorer.findings.formatting import counted
from scorer.jobs import leases
from scorer.lifecycle import Queue


def replace_extractor(
    acting: Acting,
    state: CompetitionState,
    extractor: str,
    *,
    reason: str,
    tau: float | None,
    weights: Mapping[str, str],
) -> Track:
    """Give the private track another extractor and queue every scored entry for it.

    An entry has no private score until it is measured there. A comparison of extractors must have prepared the
    reference images. ``tau`` is the first threshold; None means half the held-out distance. ``weights``: as in
    :func:`scorer.competitions.preparations.find_feature_space`.

    ``Conflict``: the private board is published (``published``), the track already has this extractor (``no-change``),
    the reference images are not prepared (``not-prepared``), or some entries have no images to measure (``no-images``).
    ``Invalid`` as for :func:`scorer.competitions.preparations.first_tau`.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    former = competitions.load_tracks(acting.session, state.competition.id)["private"]
    acting.session.refresh(former)
    preparation = _require_possible(
        acting.session, state, former, space=preparations.find_feature_space(extractor, weights), tau=tau
    )
    job_queue.cancel_jobs(acting.session, acting.now, track_id=former.id)
    former.kind = "former"
    former.replaced_at = acting.now
    acting.session.flush()
    track = Track(
        competition_id=state.competition.id,
        kind="private",
        extractor=preparation.extractor,
        signed=preparation.signed,
        epsilon=former.epsilon,
        preparation=preparation,
    )
    acting.session.add(track)
    acting.session.flush()
    if tau is None:
        preparations.set_first_threshold(acting.session, track, preparation, now=acting.now)
    else:
        preparations.set_chosen_threshold(acting, track, tau, reason=reason)
    scored = tuning.refs_with_images(acting.session, state.competition.id)
    # A draw job draws what is still missing; then it queues the score.
    queue = Queue.DRAW if state.competition.entries == "generator" else Queue.SCORE
    entries = leases.add_in_turns(acting.session, queue, scored, now=acting.now, track_id=track.id)
    audit_log.record_action(
        acting,
        "track.replaced",
        f"track:{state.competition.slug}/private",
        before={"extractor": former.extractor, "track": former.id},
        after={"extractor": track.extractor, "track": track.id, "reason": reason, "entries": entries},
    )
    return track


def _require_possible(
    session: Session, state: CompetitionState, former: Track, *, space: FeatureSpace, tau: float | None
) -> Preparation:
    if competitions.is_published(session, state.competition.id):
        raise Conflict("published", "The private board is published, so you can't change its extractor.")
    if space.extractor == former.extractor:
        raise Conflict("no-change", f"The private track already uses {space.extractor}.")
    without_images = rescoring.count_without_zip(session, state.competition.id)
    if without_images:
        entries = counted(without_images, "entry", "entries")
        raise Conflict("no-images", f"The images of {entries} are no longer stored and can't be measured again.")
    preparation = preparations.finished_preparation(session, state, "private", space=space)
    if preparation is None:
        raise Conflict(
            "not-prepared", f"The references are not prepared for {space.extractor}. Compare it first, then try again."
        )
    preparations.first_tau(preparation, tau)
    return preparation
