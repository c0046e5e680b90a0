"""Switching a rescoring campaign on, so that its measurements count, and taking that back. Both generations of
measurements stay; a switch is one row, and the next read of a board follows it.

Other references become the track's with the switch: whatever is scored from then on is measured against them.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions import penalty_notices, reference_sets
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.reference_sets import REFERENCE_ROLES
from scorer.db import competitions, rescoring, tuning
from scorer.db.jobs import rescoring_jobs
from scorer.db.notifications import competing_teams
from scorer.db.tables import Account, Preparation, RescoringCampaign, Threshold, Track
from scorer.errors import Invalid
from scorer.jobs import retries
from scorer.jobs.broker import send_after_commit
from scorer.jobs.leases import MAX_ANNOUNCED
from scorer.leaderboard.rows import read_ranked_board
from scorer.lifecycle import Phase, Queue
from scorer.notifications import notices
from scorer.ranking.judged_entries import JudgedEntries
from scorer.rescoring.campaign_status import CampaignStatus, status_of
from scorer.rescoring.campaigns import add_act
from scorer.rescoring.requirements import require_possible


def switch(
    session: Session,
    state: CompetitionState,
    campaign: RescoringCampaign,
    *,
    reason: str,
    tau: float | None,
    author: Account,
    now: datetime,
) -> None:
    """Let the measurements of a campaign count. ``tau``: the track's threshold from then on; None: the one in force,
    or in another feature space half the distance of the held-out images.

    ``Conflict`` as for :func:`scorer.rescoring.requirements.require_possible`; ``Invalid`` as for
    :func:`tau_of_switch`.
    """
    status = _locked(session, state, campaign)
    require_possible(session, state, status, "switch")
    chosen = tau_of_switch(status, tau)
    before = _judged_if_provisional(session, state)
    add_act(session, state, campaign, "switch", reason, author, now)
    if chosen is not None:
        _set_tau(session, status.track, chosen, reason, author, now)
    if not campaign.keeps_references:
        _set_references(session, status.track, campaign, campaign.preparation, author, now)
    _notify(session, state, status.track, "Entries were measured anew, and these measurements count", before, now)


def undo(
    session: Session,
    state: CompetitionState,
    campaign: RescoringCampaign,
    *,
    reason: str,
    author: Account,
    now: datetime,
) -> None:
    """Take a switch back: what counted before counts again, with the threshold of before unless another was chosen
    since. Entries that were measured against its references alone wait for a score. ``Conflict`` as for
    :func:`switch`."""
    status = _locked(session, state, campaign)
    require_possible(session, state, status, "undo")
    former = former_tau(session, status)
    before = _judged_if_provisional(session, state)
    add_act(session, state, campaign, "undo", reason, author, now)
    if former is not None:
        _set_tau(session, status.track, former, reason, author, now)
    if not campaign.keeps_references:
        _set_references(session, status.track, campaign, campaign.former_preparation, author, now)
    _notify(session, state, status.track, "What counted before entries were measured anew counts again", before, now)


def _notify(
    session: Session, state: CompetitionState, track: Track, happened: str, before: JudgedEntries | None, now: datetime
) -> None:
    """Tell every team that competes, and those that are penalised now and were not ``before`` that they may appeal. The
    campaign's reason is for organizers."""
    title, link = state.competition.title, f"/competitions/{state.competition.slug}"
    subject = f"The {track.kind} track of {title} has other measurements"
    body = f"{happened} on the {track.kind} track of {title}: scores and ranks may be others."
    teams = competing_teams(session, state.competition.id)
    notices.notify_teams(session, teams, notices.Kind.CHANGE, subject, body, link, now)
    after = _judged_if_provisional(session, state)
    if before is not None and after is not None:
        penalty_notices.notify_newly_penalised(session, state, before, after, f"{happened}.", now)


def _judged_if_provisional(session: Session, state: CompetitionState) -> JudgedEntries | None:
    """The entries of the private track as they are judged now; None unless the provisional board is published."""
    if state.phase is not Phase.PROVISIONAL:
        return None
    return read_ranked_board(session, state.competition, state.tracks, "private").judged


def _locked(session: Session, state: CompetitionState, campaign: RescoringCampaign) -> CampaignStatus:
    """The campaign's status, with competition and track locked."""
    competitions.lock_competition(session, state.competition.slug, share=False)
    tuning.lock_track(session, campaign.track_id)
    return status_of(session, campaign)


def tau_of_switch(status: CampaignStatus, tau: float | None) -> float | None:
    """The threshold that a switch brings with it; None: the one in force stays. ``Invalid`` for one that is no distance
    (``bad-tau``), and without any to begin with in another feature space (``no-heldout-distance``)."""
    campaign = status.campaign
    if tau is not None and not 0 <= tau <= 2:
        raise Invalid("bad-tau", "Distances lie between 0 and 2, and so does tau.")
    if tau is not None or not campaign.changes_space:
        return tau
    if campaign.preparation.heldout_distance is None:
        raise Invalid(
            "no-heldout-distance", "There are no held-out images to begin with: say which tau the track starts with."
        )
    return campaign.preparation.heldout_distance / 2


def former_tau(session: Session, status: CampaignStatus) -> float | None:
    """The threshold of before the switch, if the switch brought one that is still in force, or another feature space;
    None: the one in force stays."""
    campaign = status.campaign
    switched_at = next(act for act in status.acts if act.kind == "switch").created_at
    thresholds = tuning.thresholds_of(session, status.track.id)
    is_own = bool(thresholds) and thresholds[0].created_at == switched_at
    former = next((each.tau for each in thresholds if each.created_at < switched_at), None)
    return former if is_own or campaign.changes_space else None


def _set_tau(session: Session, track: Track, tau: float, reason: str, author: Account, now: datetime) -> None:
    session.add(
        Threshold(
            track_id=track.id,
            tau=tau,
            method="manual",
            choice={},
            reason=reason,
            author_id=author.id,
            created_at=now,
        )
    )
    session.flush()


def _set_references(
    session: Session,
    track: Track,
    campaign: RescoringCampaign,
    preparation: Preparation,
    author: Account,
    now: datetime,
) -> None:
    """Give a track other references. Scores that are being measured against the former ones begin anew, entries without
    a measurement that counts are scored again, and evidence is made again."""
    track.preparation = preparation
    track.extractor, track.signed = preparation.extractor, preparation.signed
    session.flush()
    attached = competitions.reference_sets(session, preparation.reference_set_ids)
    images = [each.id for each in attached if not each.holds_features]
    sets = dict(zip(REFERENCE_ROLES[track.board_kind], images, strict=False))
    if preparation.held_out_set_id is not None:
        sets |= {"held_out": preparation.held_out_set_id}
    for role, reference_set_id in sets.items():
        reference_sets.set_reference(session, track.competition_id, role, reference_set_id, author=author, now=now)
    for job in rescoring_jobs.lock_running_scores(session, track.id):
        retries.restart(session, job, now=now)
    _add_jobs(session, campaign, rescoring.unmeasured_entries(session, track), Queue.SCORE, now)
    _add_jobs(session, campaign, rescoring.measured_entries(session, campaign), Queue.EVIDENCE, now)


def _add_jobs(session: Session, campaign: RescoringCampaign, refs: Sequence[int], queue: Queue, now: datetime) -> None:
    count = rescoring_jobs.add_campaign_jobs(session, campaign, refs, queue=queue, now=now)
    send_after_commit(session, queue, count=min(count, MAX_ANNOUNCED))
