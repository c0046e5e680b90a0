"""Giving the private track another network. Measurements belong to their track, so another network is another track:
the former one keeps its measurements and thresholds, and the new one begins with none."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.competitions import reference_sets
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions, tuning
from scorer.db.jobs import job_queue
from scorer.db.tables import Account, Preparation, Threshold, Track
from scorer.errors import Conflict, Invalid
from scorer.jobs import leases
from scorer.lifecycle import JobState


@dataclass(frozen=True)
class ExtractorChange:
    """What shall become the private track's extractor, and why. ``tau``: what it starts with; None: half the held-out
    distance."""

    extractor: str
    reason: str
    tau: float | None = None


@dataclass(frozen=True)
class ScoringProgress:
    """How far the private track is: entries by what became of them."""

    done: int
    waiting: int
    failed: int


def replace_extractor(
    session: Session, state: CompetitionState, change: ExtractorChange, *, author: Account, now: datetime
) -> Track:
    """Give the private track another extractor and queue every scored entry for it; until an entry is measured there it
    has no private score. Comparing has prepared the references.

    ``Conflict`` once the final board is published, for the extractor that it has, while the references are not
    prepared, or where entries without images could never be measured.
    """
    competitions.lock_competition(session, state.competition.slug, share=False)
    former = competitions.tracks_of(session, state.competition.id)["private"]
    session.refresh(former)
    preparation = _require_possible(session, state, former, change)
    job_queue.cancel_on_track(session, former.id, now)
    former.kind, former.replaced_at = "former", now
    session.flush()
    track = Track(
        competition_id=state.competition.id,
        kind="private",
        extractor=preparation.extractor,
        signed=preparation.signed,
        epsilon=former.epsilon,
        preparation=preparation,
    )
    session.add(track)
    session.flush()
    _set_tau(session, track, preparation, change, author, now)
    entries = leases.score_all(session, state.competition.id, track.id, now=now)
    audit_log.record_action(
        session,
        "track.replaced",
        f"track:{state.competition.slug}/private",
        actor=author,
        now=now,
        before={"extractor": former.extractor, "track": former.id},
        after={"extractor": track.extractor, "track": track.id, "reason": change.reason, "entries": entries},
    )
    return track


def _require_possible(session: Session, state: CompetitionState, former: Track, change: ExtractorChange) -> Preparation:
    space = reference_sets.space_of(change.extractor)
    if competitions.is_published(session, state.competition.id):
        raise Conflict("published", "The final board is published: the private network stays as it is.")
    if space.extractor == former.extractor:
        raise Conflict("no-change", f"The private track has {space.extractor} already.")
    imported = tuning.count_without_images(session, state.competition.id)
    if imported:
        raise Conflict("no-images", f"{imported:,} entries have no images here and could not be measured again.")
    preparation = reference_sets.finished_preparation(session, state, "private", space)
    if preparation is None:
        raise Conflict(
            "not-prepared", f"The references are not prepared for {space.extractor} yet: compare it first, and wait."
        )
    if preparation.heldout_distance is None and change.tau is None:
        raise Invalid(
            "no-heldout-distance", "There are no held-out images to begin with: say which tau the track starts with."
        )
    return preparation


def _set_tau(
    session: Session, track: Track, preparation: Preparation, change: ExtractorChange, author: Account, now: datetime
) -> None:
    if change.tau is None:
        reference_sets.set_first_threshold(session, track, preparation, now=now)
        return
    session.add(
        Threshold(
            track_id=track.id,
            tau=change.tau,
            method="manual",
            choice={},
            reason=change.reason,
            author_id=author.id,
            created_at=now,
        )
    )


def scoring_progress(session: Session, state: CompetitionState) -> ScoringProgress:
    """How far the scoring of the private track is."""
    states = job_queue.states_on_track(session, state.tracks["private"].id)
    return ScoringProgress(
        done=states.get(JobState.DONE, 0),
        waiting=states.get(JobState.WAITING, 0) + states.get(JobState.RUNNING, 0),
        failed=states.get(JobState.FAILED, 0),
    )
