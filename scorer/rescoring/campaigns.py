"""Rescoring campaigns measure entries of a track again when no other jobs are waiting: with the workers' scorer
version, and optionally with other references or another extractor.

A campaign's measurements count while it is in force (:mod:`scorer.rescoring.switching`). All others are kept.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import preparations
from scorer.competitions.competition_state import CompetitionState, find_track
from scorer.competitions.preparations import FeatureSpace
from scorer.competitions.reference_sets import REFERENCE_ROLES, ReferenceRole
from scorer.db import competitions, rescoring
from scorer.db.jobs import job_queue
from scorer.db.submissions import submissions
from scorer.db.tables import Preparation, RescoringAct, RescoringCampaign, Track
from scorer.errors import Conflict, Invalid
from scorer.jobs import leases
from scorer.jobs.broker import send_after_commit
from scorer.lifecycle import Queue, TrackKind
from scorer.rescoring.campaign_status import load_status
from scorer.rescoring.requirements import require_not_replaced, require_state

CampaignAct = Literal["pause", "resume", "cancel", "switch", "undo"]


@dataclass(frozen=True)
class NewCampaign:
    """Without ``extractor`` and ``references``, only the scorer version of the workers is new."""

    track: TrackKind
    reason: str
    submissions: Sequence[str] | None = None
    """The public ids of the chosen entries. None: all entries that are scored on the track and have their zip."""
    extractor: str | None = None
    references: Mapping[ReferenceRole, str] = field(default_factory=dict)
    """Corrected reference sets: their SHA-256 by role."""


def start(
    acting: Acting, state: CompetitionState, wanted: NewCampaign, *, weights: Mapping[str, str]
) -> RescoringCampaign:
    """Start a campaign: its jobs wait for all other jobs, and for the preparation of its references.

    ``weights``: as in :func:`scorer.competitions.preparations.find_feature_space`. ``Conflict`` if the private track
    was replaced meanwhile (``former-track``), the track's references are not prepared (``not-prepared``), another
    campaign of the track has not ended (``campaign-open``), or no running worker has the weights
    (``no-worker-with-weights``). ``Invalid`` for unknown entries, references and extractors, or without any entry.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    track = find_track(state, wanted.track)
    acting.session.refresh(track)
    require_not_replaced(track)
    if track.preparation_id is None or track.preparation is None or track.preparation.finished_at is None:
        raise Conflict(
            "not-prepared",
            f"The references of the {wanted.track} track are not prepared yet. Wait until they are.",
        )
    if is_open := rescoring.open_campaigns(acting.session, track_id=track.id):
        raise Conflict(
            "campaign-open", f"Campaign {is_open[0].id} of this track has not ended. Switch to it or cancel it first."
        )
    space = preparations.find_track_feature_space(track, weights)
    if wanted.extractor is not None:
        space = preparations.find_feature_space(wanted.extractor, weights)
    same_space = space.extractor == track.extractor and preparations.has_weights(track.preparation, space)
    if wanted.submissions is not None and not same_space:
        raise Invalid(
            "all-entries", "A board can't mix two extractors. Leave out the list of entries to measure all of them."
        )
    preparation = track.preparation
    if wanted.references or not same_space:
        preparation = _find_or_create_preparation(acting.session, state, wanted, space=space, now=acting.now)
        preparations.require_weights(acting.session, preparation)
    campaign = RescoringCampaign(
        track_id=track.id,
        preparation_id=preparation.id,
        former_preparation_id=track.preparation_id,
        submission_refs=_load_refs(acting.session, state, wanted.submissions),
        reason=wanted.reason,
    )
    acting.add(campaign)
    missing = rescoring.missing_entries(acting.session, campaign)
    if not missing:
        raise Invalid(
            "no-entries",
            "None of these entries can be measured. An entry needs a score on this track and a stored zip.",
        )
    preparations.require_job(acting.session, preparation, now=acting.now)
    if preparation.finished_at is not None:
        _measure(acting.session, campaign, missing, now=acting.now)
    after = {"campaign": campaign.id, "entries": len(missing), "reason": wanted.reason, "references": preparation.key}
    record_act(acting, state, track, kind="started", after=after | {"extractor": preparation.extractor})
    return campaign


def _find_or_create_preparation(
    session: Session, state: CompetitionState, wanted: NewCampaign, *, space: FeatureSpace, now: datetime
) -> Preparation:
    """The preparation of a new campaign's references in a feature space."""
    corrected = {}
    for role, sha256 in wanted.references.items():
        if role not in (*REFERENCE_ROLES[wanted.track], "held_out"):
            raise Invalid("unused-role", f"The {wanted.track} track has no reference set with the role {role}.")
        reference_set = competitions.reference_set_by_sha256(session, sha256)
        if reference_set is None:
            raise Invalid(
                "unknown-references", f"There is no reference set with the SHA-256 {sha256}. Upload it first."
            )
        corrected[role] = reference_set
    return preparations.find_or_create_preparation(
        session, state, wanted.track, space=space, now=now, corrected=corrected
    )


def _load_refs(session: Session, state: CompetitionState, ids: Sequence[str] | None) -> list[int] | None:
    if ids is None:
        return None
    refs = submissions.load_refs(session, state.competition.id, ids)
    unknown = [id_ for id_ in ids if id_ not in refs]
    if unknown:
        raise Invalid("unknown-entries", "These entries are not in this competition.", faults=unknown[:10])
    return sorted(refs.values())


def _measure(session: Session, campaign: RescoringCampaign, refs: Collection[int], *, now: datetime) -> None:
    leases.add_in_turns(session, Queue.RESCORE, refs, now=now, track_id=campaign.track_id, campaign_id=campaign.id)


def continue_campaigns(session: Session, preparation_id: int, *, now: datetime) -> None:
    """Measure the entries of campaigns that were waiting for this preparation of references, which has finished."""
    for campaign in rescoring.open_campaigns(session, preparation_id=preparation_id):
        if session.get_one(Track, campaign.track_id).kind != "former":
            _measure(session, campaign, rescoring.missing_entries(session, campaign), now=now)


def decide(
    acting: Acting, state: CompetitionState, campaign: RescoringCampaign, *, decision: CampaignAct, reason: str
) -> None:
    """Pause, resume or cancel a campaign. Resuming measures the entries that it lacks: those that failed or were scored
    since.

    ``Conflict`` as for :func:`scorer.rescoring.requirements.require_state`.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    require_state(load_status(acting.session, campaign), decision)
    add_act(acting, state, campaign, kind=decision, reason=reason)
    if decision == "cancel":
        job_queue.cancel_jobs(acting.session, acting.now, campaign_id=campaign.id)
    if decision == "resume":
        preparations.require_job(acting.session, campaign.preparation, now=acting.now)
        if campaign.preparation.finished_at is not None:
            _measure(acting.session, campaign, rescoring.missing_entries(acting.session, campaign), now=acting.now)
            send_after_commit(acting.session, Queue.RESCORE)


def add_act(acting: Acting, state: CompetitionState, campaign: RescoringCampaign, *, kind: str, reason: str) -> None:
    acting.add(RescoringAct(campaign_id=campaign.id, kind=kind, reason=reason))
    track = acting.session.get_one(Track, campaign.track_id)
    record_act(acting, state, track, kind=kind, after={"campaign": campaign.id, "reason": reason})


def record_act(acting: Acting, state: CompetitionState, track: Track, *, kind: str, after: dict[str, object]) -> None:
    subject = f"track:{state.competition.slug}/{track.kind}"
    audit_log.record_action(acting, f"rescoring.{kind}", subject, after=after)
