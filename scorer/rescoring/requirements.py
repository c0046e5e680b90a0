"""What must hold for a decision about a rescoring campaign; pages and programs are offered what holds now."""

from collections.abc import Collection, Mapping
from contextlib import suppress

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, require_not_final
from scorer.db import rescoring
from scorer.db.tables import Track
from scorer.errors import Conflict
from scorer.rescoring.campaign_status import CampaignState, CampaignStatus

ALLOWED: Mapping[str, Collection[CampaignState]] = {
    "pause": {"preparing", "measuring"},
    "resume": {"paused", "measured", "failed"},
    "cancel": {"preparing", "failed", "measuring", "paused", "measured"},
    "switch": {"measured", "taken back"},
    "undo": {"in force"},
}
"""In which states something can be decided about a campaign."""


def possible_decisions(session: Session, state: CompetitionState, status: CampaignStatus) -> list[str]:
    """What can be decided about a campaign now; a switch may still need a threshold to begin with."""
    possible = []
    for kind in ALLOWED:
        with suppress(Conflict):
            require_possible(session, state, status, kind=kind)
            possible.append(kind)
    return possible


def require_possible(session: Session, state: CompetitionState, status: CampaignStatus, *, kind: str) -> None:
    """``Conflict`` if something cannot be decided about a campaign: as for :func:`require_state`; a switch, and taking
    it back, also while the final board is published (``published``) or a newer campaign is in force
    (``newer-campaign``); a switch as for :func:`require_switchable`."""
    if kind in rescoring.SWITCHES:
        require_not_final(session, state.competition)
    require_state(status, kind)
    if kind == "switch":
        require_switchable(session, status)
    if kind == "undo":
        require_newest(session, status)


def require_state(status: CampaignStatus, kind: str) -> None:
    """``Conflict`` if ``kind`` cannot be decided about a campaign: its private track was replaced (``former-track``),
    or its state does not allow it (``wrong-state``)."""
    require_not_replaced(status.track)
    is_complete = status.state == "measured" and not status.missing
    if status.state not in ALLOWED[kind] or (is_complete and kind == "resume"):
        raise Conflict("wrong-state", f"The campaign is {status.state}: that allows no {kind}.", state=status.state)


def require_not_replaced(track: Track) -> None:
    """``Conflict`` (``former-track``) if a track is no longer the private one."""
    if track.kind == "former":
        raise Conflict("former-track", "The private track has another extractor since: its campaigns are over.")


def require_switchable(session: Session, status: CampaignStatus, *, complete: bool = True) -> None:
    """``Conflict`` if a campaign's measurements cannot count: they are of several scorer versions (``mixed-versions``),
    the track's references are others by now (``references-moved``), or a newer campaign is in force. ``complete``: also
    if there are none (``nothing-measured``), or some of another feature space are missing (``not-measured``)."""
    campaign, versions = status.campaign, status.difference.scorer_versions
    if complete and not status.difference.measured:
        raise Conflict("nothing-measured", "The campaign has measured nothing.")
    if len(versions) > 1:
        raise Conflict(
            "mixed-versions",
            f"Scorer versions {' and '.join(versions)} have measured: start another campaign.",
        )
    if complete and campaign.changes_space and status.missing:
        raise Conflict(
            "not-measured", f"{status.missing:,} entries are not measured, and would have no score: let it go on first."
        )
    if status.track.preparation_id != campaign.former_preparation_id:
        raise Conflict("references-moved", "The track has other references than when the campaign began.")
    require_newest(session, status)


def require_newest(session: Session, status: CampaignStatus) -> None:
    """``Conflict`` (``newer-campaign``) while a later campaign of the track is in force."""
    newer = [each.id for each in rescoring.in_force_on(session, status.track.id) if each.id > status.campaign.id]
    if newer:
        raise Conflict("newer-campaign", f"Campaign {newer[0]} of this track is in force: take that back first.")
