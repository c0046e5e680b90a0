"""Switching a rescoring campaign on, which makes its measurements count, and undoing the switch.

Both generations of measurements stay. A switch is one row, and the next read of a board follows it. With the switch,
the track also gets the campaign's references, so later entries are measured against them.
"""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import penalty_notices, reference_sets
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.preparations import first_tau, set_chosen_threshold
from scorer.competitions.reference_sets import REFERENCE_ROLES
from scorer.db import competitions, rescoring, tuning
from scorer.db.jobs import job_queue
from scorer.db.notifications import competing_teams
from scorer.db.tables import Preparation, RescoringCampaign, Track
from scorer.jobs import leases, retries
from scorer.leaderboard.rows import read_ranked_board
from scorer.lifecycle import Phase, Queue
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.ranking.judged_entries import JudgedEntries
from scorer.rescoring import campaigns
from scorer.rescoring.campaign_status import CampaignStatus, find_campaign, load_status
from scorer.rescoring.campaigns import CampaignAct, add_act
from scorer.rescoring.requirements import require_possible

HAPPENED = {
    "switch": "Entries have been measured again, and the new measurements now count",
    "undo": "The new measurements of entries no longer count, and the earlier ones count again",
}
"""What teams are notified of, for a switch and its undo."""


def decide(
    acting: Acting, state: CompetitionState, campaign_id: int, *, decision: CampaignAct, reason: str, tau: float | None
) -> None:
    """Carry out an organizer's decision about a campaign. After ``undo``, entries that were measured only against its
    references wait for a score.

    ``Conflict`` as for :func:`scorer.rescoring.requirements.require_possible`; ``Invalid`` as for :func:`tau_after`.
    """
    session, is_undone = acting.session, decision == "undo"
    campaign = find_campaign(session, state, campaign_id)
    if decision not in rescoring.SWITCHES:
        campaigns.decide(acting, state, campaign, decision=decision, reason=reason)
        return
    competitions.lock_competition(session, state.competition.slug, share=False)
    tuning.lock_track(session, campaign.track_id)
    status = load_status(session, campaign)
    require_possible(session, state, status, kind=decision)
    chosen = tau_after(session, status, undo=is_undone, tau=tau)
    before = _judged_if_provisional(session, state)
    add_act(acting, state, campaign, kind=decision, reason=reason)
    if chosen is not None:
        set_chosen_threshold(acting, status.track, chosen, reason=reason)
    if not campaign.keeps_references:
        preparation = campaign.former_preparation if is_undone else campaign.preparation
        _set_references(acting, status.track, campaign, preparation=preparation)
    _notify(session, state, status.track, happened=HAPPENED[decision], before=before, now=acting.now)


def _notify(
    session: Session,
    state: CompetitionState,
    track: Track,
    *,
    happened: str,
    before: JudgedEntries | None,
    now: datetime,
) -> None:
    """Notify every competing team. Teams that have become penalised are notified that they can appeal. The campaign's
    reason is for organizers only."""
    title, link = state.competition.title, f"/competitions/{state.competition.slug}"
    subject = f"The measurements of the {track.kind} track of {title} have changed"
    body = f"{happened} on the {track.kind} track of {title}. Scores and ranks may have changed."
    teams = competing_teams(session, state.competition.id)
    notices.notify(session, NoticeText(Kind.CHANGE, subject, body, link), now, teams=teams)
    after = _judged_if_provisional(session, state)
    if before is not None and after is not None:
        penalty_notices.notify_newly_penalised(session, state, before, after=after, why=f"{happened}.", now=now)


def _judged_if_provisional(session: Session, state: CompetitionState) -> JudgedEntries | None:
    """The private track's entries as currently judged; None unless the provisional board is published."""
    if state.phase is not Phase.PROVISIONAL:
        return None
    return read_ranked_board(session, state, "private").judged


def tau_after(session: Session, status: CampaignStatus, *, undo: bool, tau: float | None) -> float | None:
    """The threshold that a switch, or undoing it (``undo``), sets; None: the current one stays.

    A switch sets ``tau``, or half the distance of the held-out images if the feature space changes. ``Invalid`` as for
    :func:`scorer.competitions.preparations.first_tau`. An undo restores the previous threshold, unless another one has
    been chosen since in the same feature space.
    """
    campaign = status.campaign
    if not undo:
        return first_tau(campaign.preparation, tau) if tau is not None or campaign.changes_space else None
    switched_at = next(act for act in status.acts if act.kind == "switch").created_at
    thresholds = tuning.load_thresholds(session, status.track.id)
    is_own = bool(thresholds) and thresholds[0].created_at == switched_at
    former = next((row.tau for row in thresholds if row.created_at < switched_at), None)
    return former if is_own or campaign.changes_space else None


def _set_references(acting: Acting, track: Track, campaign: RescoringCampaign, *, preparation: Preparation) -> None:
    """Give a track other references. Running scores restart against the new references, entries without a counting
    measurement are scored again, and evidence is recomputed."""
    track.preparation = preparation
    track.extractor, track.signed = preparation.extractor, preparation.signed
    acting.session.flush()
    attached = competitions.reference_sets(acting.session, preparation.reference_set_ids)
    images = [image_set.id for image_set in attached if not image_set.holds_features]
    sets = dict(zip(REFERENCE_ROLES[track.board_kind], images, strict=False))
    if preparation.held_out_set_id is not None:
        sets |= {"held_out": preparation.held_out_set_id}
    for role, reference_set_id in sets.items():
        reference_sets.set_reference(acting, track.competition_id, role, reference_set_id=reference_set_id)
    for job in job_queue.lock_running_scores(acting.session, track.id):
        retries.restart(acting.session, job, now=acting.now)
    # Jobs without a campaign measure with the track's own references.
    by_track: dict[str, int | None] = {"track_id": track.id, "campaign_id": None}
    unmeasured = rescoring.unmeasured_entries(acting.session, track)
    leases.add_in_turns(acting.session, Queue.SCORE, unmeasured, now=acting.now, **by_track)
    measured = rescoring.measured_entries(acting.session, campaign)
    leases.add_in_turns(acting.session, Queue.EVIDENCE, measured, now=acting.now, **by_track)
