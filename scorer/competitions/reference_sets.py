"""Reference sets: attaching them to a competition by role, and preparing them for its tracks."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy.orm import Session

from scorer import audit_log, extractor_catalogue
from scorer.archive import BOTTLENECK
from scorer.blobs import ReceivedBlob
from scorer.competitions.competition_state import CompetitionState, track_of
from scorer.competitions.data_files import SECRET_ROLES
from scorer.db import competitions, tuning
from scorer.db.competitions import is_file_offered
from scorer.db.jobs.job_queue import job_of_preparation
from scorer.db.submissions import submissions
from scorer.db.tables import Account, CompetitionReference, Job, Preparation, ReferenceSet, Threshold, Track
from scorer.errors import Conflict
from scorer.jobs import leases
from scorer.lifecycle import JobState, Queue, TrackKind
from scorer.metrics.statistics.threshold_selection import choose_tau

ReferenceRole = Literal["train", "held_out", "private_extra"]
REFERENCE_ROLES: dict[TrackKind, tuple[ReferenceRole, ...]] = {
    "public": ("train",),
    "private": ("train", "private_extra"),
}
"""The roles whose images make up a track's reference. Held-out images are in none: they are the independent sample."""


def attach_reference_set(
    session: Session,
    state: CompetitionState,
    role: ReferenceRole,
    received: ReceivedBlob,
    *,
    author: Account,
    now: datetime,
) -> ReferenceSet:
    """Attach an uploaded zip in ``role``; equal bytes are one reference set in all competitions.

    ``Conflict`` once the competition has a submission, since all must be measured against one reference; ``Conflict``
    also for images of a secret role that participants can download.
    """
    competitions.lock_competition(session, state.competition.slug, share=False)
    if submissions.has_submissions(session, state.competition.id):
        raise Conflict("references-fixed", "The references are fixed: the competition has taken entries already.")
    reference_set = store_reference_set(session, state, role, received, author=author, now=now)
    set_reference(session, state.competition.id, role, reference_set.id, author=author, now=now)
    for kind, roles in REFERENCE_ROLES.items():
        if role in roles or role == "held_out":
            state.tracks[kind].preparation_id = None
    session.flush()
    subject = f"competition:{state.competition.slug}"
    attached = {"role": role, "sha256": reference_set.sha256}
    audit_log.record_action(session, "references.attached", subject, actor=author, now=now, after=attached)
    return reference_set


def store_reference_set(
    session: Session,
    state: CompetitionState,
    role: ReferenceRole,
    received: ReceivedBlob,
    *,
    author: Account,
    now: datetime,
) -> ReferenceSet:
    """The reference set of an uploaded zip for ``role``, attached to nothing yet: a new row, or the one of equal bytes.
    ``Conflict`` for images of a secret role that participants can download."""
    competitions.lock_competition(session, state.competition.slug, share=False)
    if role in SECRET_ROLES and is_file_offered(session, received.sha256):
        raise Conflict("offered-images", "Participants can download these very images: withdraw the data file first.")
    reference_set = competitions.reference_set_by_sha256(session, received.sha256)
    if reference_set is None:
        reference_set = ReferenceSet(
            sha256=received.sha256,
            bytes=received.bytes,
            blob_key=received.key,
            created_by=author.id,
            created_at=now,
        )
        session.add(reference_set)
        session.flush()
    return reference_set


def set_reference(
    session: Session, competition_id: int, role: str, reference_set_id: int, *, author: Account, now: datetime
) -> None:
    """Give a role of a competition a reference set, in place of the one that it has."""
    session.merge(
        CompetitionReference(
            competition_id=competition_id,
            role=role,
            reference_set_id=reference_set_id,
            attached_by=author.id,
            attached_at=now,
        )
    )


def prepare(
    session: Session, state: CompetitionState, kind: TrackKind, *, author: Account, now: datetime
) -> Preparation:
    """Queue the preparation of a track's references, or reuse the one that was made from equal inputs."""
    competitions.lock_competition(session, state.competition.slug, share=False)
    track = track_of(state, kind)
    preparation = preparation_of(session, state, kind, FeatureSpace(track.extractor, track.signed), now=now)
    track.preparation = preparation
    if preparation.finished_at is None:
        require_work(session, preparation, now=now)
    else:
        set_first_threshold(session, track, preparation, now=now)
    session.flush()
    subject = f"track:{state.competition.slug}/{kind}"
    audit_log.record_action(
        session, "references.prepared", subject, actor=author, now=now, after={"preparation": preparation.key}
    )
    return preparation


@dataclass(frozen=True)
class FeatureSpace:
    """The feature space of an extractor; ``signed``: cosine similarities keep their sign."""

    extractor: str
    signed: bool


def space_of(name: str) -> FeatureSpace:
    """The feature space of an extractor by its name; ``Invalid`` for an unknown one."""
    extractor = extractor_catalogue.find_extractor(name)
    return FeatureSpace(extractor.identity, not extractor.non_negative)


def preparation_of(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    space: FeatureSpace,
    *,
    now: datetime,
    corrected: Mapping[ReferenceRole, ReferenceSet] = MappingProxyType({}),
) -> Preparation:
    """The preparation of a track's references in a feature space: an earlier one from equal inputs, or a new row for a
    worker to fill. ``corrected``: sets in place of those that are attached in these roles."""
    key, sets, held_out = _inputs(session, state, kind, space, corrected)
    preparation = competitions.preparation_by_key(session, key)
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
    session: Session, state: CompetitionState, kind: TrackKind, space: FeatureSpace
) -> Preparation | None:
    """The finished preparation of a track's references in a feature space; None if there is none."""
    preparation = competitions.preparation_by_key(session, _inputs(session, state, kind, space)[0])
    return preparation if preparation is not None and preparation.finished_at is not None else None


def require_work(session: Session, preparation: Preparation, *, now: datetime) -> None:
    """Queue the job of an unfinished preparation, unless it has an unfinished job already."""
    job = job_of_preparation(session, preparation.id)
    if preparation.finished_at is None and (job is None or job.state == JobState.FAILED):
        leases.add_job(session, Queue.PREPARE, preparation_id=preparation.id, now=now)


def _inputs(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    space: FeatureSpace,
    corrected: Mapping[ReferenceRole, ReferenceSet] = MappingProxyType({}),
) -> tuple[str, list[ReferenceSet], ReferenceSet | None]:
    """The key of a preparation (SHA-256 of its inputs), its reference sets, and the held-out set."""
    rows = competitions.references_of(session, state.competition.id)
    attached: dict[str, ReferenceSet] = {role: row.reference_set for role, row in rows.items()} | {**corrected}
    if "train" not in attached:
        raise Conflict("no-references", "Attach training images first.")
    sets = [attached[role] for role in REFERENCE_ROLES[kind] if role in attached]
    held_out = attached.get("held_out")
    return _key(state, space, [each.sha256 for each in sets], held_out.sha256 if held_out else None), sets, held_out


def _key(state: CompetitionState, space: FeatureSpace, sets: list[str], held_out: str | None) -> str:
    inputs = {
        "bottleneck": BOTTLENECK,
        "extractor": space.extractor,
        "weights_sha256": extractor_catalogue.find_extractor(space.extractor).weights_sha256,
        "image_size": state.competition.image_size,
        "signed": space.signed,
        "reference_sets": sets,
        "held_out": held_out,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def record_preparation(
    session: Session,
    claim: leases.Claim,
    *,
    count: int,
    dimension: int,
    heldout_distance: float | None,
    provenance: dict[str, Any],
    now: datetime,
) -> bool:
    """Record a finished preparation; False if the claim no longer holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    preparation = session.get_one(Preparation, claim.preparation_id)
    preparation.count = count
    preparation.dimension = dimension
    preparation.heldout_distance = heldout_distance
    preparation.provenance = provenance
    preparation.finished_at = now
    for track in competitions.tracks_with_preparation(session, preparation.id):
        set_first_threshold(session, track, preparation, now=now)
    return True


def unset_preparation(session: Session, track: Track, *, now: datetime) -> None:
    """Have a track, whose extractor or image size has changed, prepared anew: until then it has neither references nor
    a threshold. What was chosen for another feature space counts no more."""
    track.preparation_id = None
    session.flush()
    if tuning.newest_threshold(session, track.id) is not None:
        reason = "None is chosen yet: the track is measured in another way than before."
        unset = {"tau": 0.0, "method": tuning.UNSET, "choice": {}, "author_id": None}
        session.add(Threshold(track_id=track.id, reason=reason, created_at=now, **unset))
        session.flush()


def set_first_threshold(session: Session, track: Track, preparation: Preparation, *, now: datetime) -> None:
    """Set tau = s(held-out) / 2 unless a person has chosen a threshold; without held-out images a person has to."""
    if preparation.heldout_distance is None:
        return
    newest = tuning.newest_threshold(session, track.id)
    chosen_by_person = newest is not None and newest.author_id is not None
    same = newest is not None and newest.choice.get("heldout_distance") == preparation.heldout_distance
    if chosen_by_person or same:
        return
    choice = choose_tau([], method="heldout", heldout_distance=preparation.heldout_distance)
    session.add(
        Threshold(
            track_id=track.id,
            tau=choice.tau,
            method="heldout",
            choice={"heldout_distance": preparation.heldout_distance},
            reason="Half the memorization distance of the held-out photographs, before anything was labelled.",
            author_id=None,
            created_at=now,
        )
    )


def job_for(session: Session, track: Track) -> Job | None:
    """The job that prepares this track's references; None if there was none."""
    return None if track.preparation_id is None else job_of_preparation(session, track.preparation_id)
