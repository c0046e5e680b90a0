"""Reference sets: attaching them to a competition by role."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from scorer import audit_log
from scorer.acting import Acting
from scorer.blobs import ReceivedBlob
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.data_files import SECRET_ROLES
from scorer.db import competitions
from scorer.db.competitions import is_file_offered
from scorer.db.leaderboard import shown_tracks
from scorer.db.submissions import submissions
from scorer.db.tables import CompetitionReference, ReferenceSet
from scorer.errors import Conflict
from scorer.lifecycle import TrackKind

ReferenceRole = Literal["train", "held_out", "private_extra", "public_features", "private_features"]
REFERENCE_ROLES: dict[TrackKind, tuple[ReferenceRole, ...]] = {
    "public": ("train",),
    "private": ("train", "private_extra"),
}
"""The roles of the images in a track's reference. Held-out images are in none: they are the independent sample."""
FEATURES_ROLES: Mapping[TrackKind, ReferenceRole] = MappingProxyType(
    {"public": "public_features", "private": "private_features"}
)
"""The role of features that replace the images' features in a track's reference."""


def attach_reference_set(
    acting: Acting, state: CompetitionState, role: ReferenceRole, *, received: ReceivedBlob
) -> ReferenceSet:
    """Attach an uploaded file in ``role``. Equal bytes are one reference set in all competitions.

    Features count while the track keeps its current extractor. ``Conflict`` once the competition has a submission,
    because all must be measured against the same reference. ``Conflict`` also for images of a secret role that
    participants can download.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    if submissions.has_submissions(acting.session, state.competition.id):
        raise Conflict(
            "references-fixed", "The competition already has entries, so its references can no longer change."
        )
    reference_set = store_reference_set(acting, state, role, received=received)
    track = next((kind for kind, features in FEATURES_ROLES.items() if features == role), None)
    extractor = state.tracks[track].extractor if track else None
    set_reference(acting, state.competition.id, role, reference_set_id=reference_set.id, extractor=extractor)
    for kind, roles in REFERENCE_ROLES.items():
        if role in (*roles, "held_out", FEATURES_ROLES[kind]):
            state.tracks[kind].preparation_id = None
            shown_tracks.forget_preparations(acting.session, state.competition.id, kind)
    acting.session.flush()
    subject = f"competition:{state.competition.slug}"
    attached = {"role": role, "sha256": reference_set.sha256}
    audit_log.record_action(acting, "references.attached", subject, after=attached)
    return reference_set


def store_reference_set(
    acting: Acting, state: CompetitionState, role: ReferenceRole, *, received: ReceivedBlob
) -> ReferenceSet:
    """Store the reference set of an uploaded zip for ``role``, or return the existing one with equal bytes.

    It is not attached yet. ``Conflict`` for images of a secret role that participants can download.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    if role in SECRET_ROLES and is_file_offered(acting.session, received.sha256):
        raise Conflict("offered-images", "Participants can download these images. Withdraw the data file first.")
    reference_set = competitions.reference_set_by_sha256(acting.session, received.sha256)
    if reference_set is None:
        reference_set = ReferenceSet(
            sha256=received.sha256,
            bytes=received.bytes,
            blob_key=received.key,
            created_by=acting.actor.id,
            created_at=acting.now,
        )
        acting.session.add(reference_set)
        acting.session.flush()
    return reference_set


def set_reference(
    acting: Acting, competition_id: int, role: str, *, reference_set_id: int, extractor: str | None = None
) -> None:
    """Set the reference set of a role of a competition. ``extractor``: that of its features, if it has features."""
    acting.session.merge(
        CompetitionReference(
            competition_id=competition_id,
            role=role,
            reference_set_id=reference_set_id,
            extractor=extractor,
            attached_by=acting.actor.id,
            attached_at=acting.now,
        )
    )
