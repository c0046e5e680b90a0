"""Preparations: a track's references in a feature space, computed once for equal inputs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from scorer import audit_log, extractor_catalogue
from scorer.acting import Acting
from scorer.archive import BOTTLENECK
from scorer.competitions.competition_state import CompetitionState, find_track
from scorer.competitions.reference_sets import FEATURES_ROLES, REFERENCE_ROLES, ReferenceRole
from scorer.competitions.worker_weights import require_worker_with_weights
from scorer.db import competitions, tuning
from scorer.db.jobs.job_queue import newest_job
from scorer.db.leaderboard import shown_tracks
from scorer.db.submissions import submissions
from scorer.db.tables import Job, Preparation, ReferenceSet, Threshold, Track
from scorer.errors import Conflict, Invalid
from scorer.jobs import leases
from scorer.lifecycle import JobState, Queue, TrackKind
from scorer.metrics.statistics.threshold_selection import choose_tau

FORMAT = "1"
"""Version of a preparation's files. A new version causes new preparations; tracks keep the files that they have."""


@dataclass(frozen=True)
class FeatureSpace:
    """``signed``: cosine similarities keep their sign. ``weights_sha256``: the required hash (hex) of the weights; None
    if there is no requirement."""

    extractor: str
    signed: bool
    weights_sha256: str | None


def find_feature_space(name: str, weights: Mapping[str, str]) -> FeatureSpace:
    """Return the feature space of an extractor; ``Invalid`` if it is unknown.

    ``weights``: the hashes (hex) that the operator requires of weight files, by extractor.
    """
    extractor = extractor_catalogue.find_extractor(name)
    required = extractor.weights_sha256 or weights.get(extractor.name, "").lower() or None
    return FeatureSpace(extractor.identity, not extractor.non_negative, required)


def find_track_feature_space(track: Track, weights: Mapping[str, str]) -> FeatureSpace:
    return replace(find_feature_space(track.extractor, weights), signed=track.signed)


def has_weights(preparation: Preparation, space: FeatureSpace) -> bool:
    """Whether a preparation was made with the weights of a feature space; True if either is unknown."""
    made_with = (preparation.provenance or {}).get("weights_sha256")
    return made_with is None or space.weights_sha256 in {None, made_with}


def prepare(acting: Acting, state: CompetitionState, kind: TrackKind, *, weights: Mapping[str, str]) -> Preparation:
    """Queue the preparation of a track's references, or reuse one with equal inputs.

    ``weights``: as in :func:`find_feature_space`. ``Conflict`` if the track has entries and was prepared with other
    weights, or if no running worker has the weights.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    track = find_track(state, kind)
    space = find_track_feature_space(track, weights)
    acting.session.refresh(track)
    if (
        track.preparation is not None
        and not has_weights(track.preparation, space)
        and submissions.has_submissions(acting.session, state.competition.id)
    ):
        raise Conflict(
            "references-fixed",
            f"The entries were measured with other weights of {space.extractor}. Create a rescoring campaign, which"
            " prepares the references and measures all entries with the new weights.",
        )
    preparation = find_or_create_preparation(acting.session, state, kind, space=space, now=acting.now)
    track.preparation = preparation
    require_weights(acting.session, preparation)
    if preparation.finished_at is None:
        require_job(acting.session, preparation, now=acting.now)
    else:
        set_first_threshold(acting.session, track, preparation, now=acting.now)
    acting.session.flush()
    _prepare_shown(acting.session, state, kind, weights=weights, now=acting.now)
    subject = f"track:{state.competition.slug}/{kind}"
    audit_log.record_action(acting, "references.prepared", subject, after={"preparation": preparation.key})
    return preparation


def _prepare_shown(
    session: Session, state: CompetitionState, kind: TrackKind, *, weights: Mapping[str, str], now: datetime
) -> None:
    """Prepare the same references for shown tracks that lost theirs when other references were attached."""
    for shown in shown_tracks.load_shown_tracks(session, state.competition.id):
        if shown.reference == kind and shown.preparation_id is None:
            space = find_feature_space(shown.extractor, weights)
            shown.preparation = find_or_create_preparation(session, state, kind, space=space, now=now)
            require_job(session, shown.preparation, now=now)


def find_or_create_preparation(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    *,
    space: FeatureSpace,
    now: datetime,
    corrected: Mapping[ReferenceRole, ReferenceSet] = MappingProxyType({}),
) -> Preparation:
    """Return the preparation of a track's references: an earlier one with equal inputs, or a new row for a worker.

    ``corrected``: sets that replace the attached sets of these roles.
    """
    sets, held_out = _attached(session, state, kind, space=space, corrected=corrected)
    key = _key(state, space, sets, held_out=held_out)
    preparation = _preparation_by_inputs(session, state, space, sets=sets, held_out=held_out)
    if preparation is None:
        preparation = Preparation(
            key=key,
            extractor=space.extractor,
            image_size=state.competition.image_size,
            signed=space.signed,
            reference_set_ids=[reference_set.id for reference_set in sets],
            held_out_set_id=held_out.id if held_out else None,
            created_at=now,
        )
        session.add(preparation)
        session.flush()
    return preparation


def finished_preparation(
    session: Session, state: CompetitionState, kind: TrackKind, *, space: FeatureSpace
) -> Preparation | None:
    sets, held_out = _attached(session, state, kind, space=space)
    preparation = _preparation_by_inputs(session, state, space, sets=sets, held_out=held_out)
    return preparation if preparation is not None and preparation.finished_at is not None else None


def require_weights(session: Session, preparation: Preparation) -> None:
    """``Conflict`` (``no-worker-with-weights``) for an unfinished preparation if no running worker has the weights."""
    if preparation.finished_at is None:
        require_worker_with_weights(session, preparation.extractor)


def require_job(session: Session, preparation: Preparation, *, now: datetime) -> None:
    """Queue the job of an unfinished preparation unless a job already waits or runs."""
    job = newest_job(session, preparation_id=preparation.id)
    if preparation.finished_at is None and (job is None or job.state == JobState.FAILED):
        leases.add_job(session, Queue.PREPARE, preparation_id=preparation.id, now=now)


def _attached(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    *,
    space: FeatureSpace,
    corrected: Mapping[ReferenceRole, ReferenceSet] = MappingProxyType({}),
) -> tuple[list[ReferenceSet], ReferenceSet | None]:
    """Return the reference sets of a track's preparation, features of the same extractor first, and the held-out
    set."""
    rows = competitions.load_references(session, state.competition.id)
    attached: dict[str, ReferenceSet] = {role: row.reference_set for role, row in rows.items()} | {**corrected}
    if "train" not in attached:
        raise Conflict("no-references", "Attach training images first.")
    sets = [attached[role] for role in REFERENCE_ROLES[kind] if role in attached]
    features = rows.get(FEATURES_ROLES[kind])
    replaced = {*corrected} & {*REFERENCE_ROLES[kind]}  # new images make the attached features wrong
    if features is not None and features.extractor == space.extractor and not replaced:
        sets = [features.reference_set, *sets]
    return sets, attached.get("held_out")


def _preparation_by_inputs(
    session: Session,
    state: CompetitionState,
    space: FeatureSpace,
    *,
    sets: Sequence[ReferenceSet],
    held_out: ReferenceSet | None,
) -> Preparation | None:
    """Return the preparation with equal inputs, or one with these weights from before they were required."""
    preparation = competitions.preparation_by_key(session, _key(state, space, sets, held_out=held_out))
    if preparation is not None or space.weights_sha256 is None:
        return preparation
    key = _key(state, replace(space, weights_sha256=None), sets, held_out=held_out)
    preparation = competitions.preparation_by_key(session, key)
    return preparation if preparation is not None and has_weights(preparation, space) else None


def _key(
    state: CompetitionState, space: FeatureSpace, sets: Sequence[ReferenceSet], *, held_out: ReferenceSet | None
) -> str:
    inputs = {
        "bottleneck": BOTTLENECK,
        "extractor": space.extractor,
        "weights_sha256": space.weights_sha256,
        "image_size": state.competition.image_size,
        "signed": space.signed,
        "reference_sets": [reference_set.sha256 for reference_set in sets],
        "held_out": held_out.sha256 if held_out else None,
        "format": FORMAT,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class PreparationResult:
    count: int
    dimension: int
    held_out_distance: float | None
    provenance: dict[str, Any]


def record_preparation(session: Session, claim: leases.Claim, result: PreparationResult, *, now: datetime) -> bool:
    """Record a finished preparation; False if the claim no longer holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    preparation = session.get_one(Preparation, claim.job.preparation_id)
    preparation.count = result.count
    preparation.dimension = result.dimension
    preparation.held_out_distance = result.held_out_distance
    preparation.provenance = result.provenance
    preparation.finished_at = now
    for track in competitions.tracks_with_preparation(session, preparation.id):
        set_first_threshold(session, track, preparation, now=now)
    return True


def unset_preparation(session: Session, track: Track, *, now: datetime) -> None:
    """Remove a track's references and threshold after a change of its extractor or image size."""
    track.preparation_id = None
    session.flush()
    if tuning.newest_threshold(session, track.id) is not None:
        reason = "No threshold is chosen, because the track's extractor or image size has changed."
        unset = {"tau": 0.0, "method": tuning.UNSET, "choice": {}, "author_id": None}
        session.add(Threshold(track_id=track.id, reason=reason, created_at=now, **unset))
        session.flush()


def set_first_threshold(session: Session, track: Track, preparation: Preparation, *, now: datetime) -> None:
    """Set tau = s(held-out) / 2 unless a person has chosen a threshold. Without held-out images a person must."""
    if preparation.held_out_distance is None:
        return
    newest = tuning.newest_threshold(session, track.id)
    chosen_by_person = newest is not None and newest.author_id is not None
    same = newest is not None and newest.choice.get("held_out_distance") == preparation.held_out_distance
    if chosen_by_person or same:
        return
    choice = choose_tau([], method="held_out", held_out_distance=preparation.held_out_distance)
    session.add(
        Threshold(
            track_id=track.id,
            tau=choice.tau,
            method="held_out",
            choice={"held_out_distance": preparation.held_out_distance},
            reason="Half the memorization distance of the held-out images, before any entry was labelled.",
            author_id=None,
            created_at=now,
        )
    )


def first_tau(preparation: Preparation, tau: float | None) -> float:
    """Return the first threshold of a track in a feature space: ``tau``, or half the distance of the held-out images.

    ``Invalid`` if ``tau`` is not a distance (``bad-tau``), or there is neither (``no-held-out-distance``).
    """
    if tau is not None:
        if not 0 <= tau <= 2:
            raise Invalid("bad-tau", f"tau is {tau:g}. It must be between 0 and 2, like every distance.")
        return tau
    if preparation.held_out_distance is None:
        raise Invalid(
            "no-held-out-distance", "There are no held-out images to derive the first threshold from. Set tau."
        )
    return preparation.held_out_distance / 2


def set_chosen_threshold(acting: Acting, track: Track, tau: float, *, reason: str) -> None:
    acting.add(Threshold(track_id=track.id, tau=tau, method="manual", choice={}, reason=reason))


def job_for(session: Session, track: Track) -> Job | None:
    return None if track.preparation_id is None else newest_job(session, preparation_id=track.preparation_id)
