"""The requirements of each decision about a rescoring campaign. Pages and programs offer the decisions that meet
them."""

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
"""The states of a campaign that allow each decision."""


def possible_decisions(session: Session, state: CompetitionState, status: CampaignStatus) -> list[str]:
    """The decisions that are possible now. A switch may still need a first threshold."""
    possible = []
    for kind in ALLOWED:
        with suppress(Conflict):
            require_possible(session, state, status, kind=kind)
            possible.append(kind)
    return possible


def require_possible(session: Session, state: CompetitionState, status: CampaignStatus, *, kind: str) -> None:
    """``Conflict`` if a decision about a campaign is not possible, as for :func:`require_state`.

    A switch and its undo are also impossible while the final board is published (``published``) or a newer campaign is
    in force (``newer-campaign``). A switch also needs :func:`require_switchable`.
    """
    if kind in rescoring.SWITCHES:
        require_not_final(session, state.competition)
    require_state(status, kind)
    if kind == "switch":
        require_switchable(session, status)
    if kind == "undo":
        require_newest(session, status)


def require_state(status: CampaignStatus, kind: str) -> None:
    """``Conflict`` if the private track was replaced (``former-track``), or the campaign's state does not allow the
    decision ``kind`` (``wrong-state``)."""
    require_not_replaced(status.track)
    is_complete = status.state == "measured" and not status.missing
    if status.state not in ALLOWED[kind] or (is_complete and kind == "resume"):
        raise Conflict("wrong-state", f"The campaign is {status.state}, so you can't {kind} it.", state=status.state)


def require_not_replaced(track: Track) -> None:
    if track.kind == "former":
        raise Conflict(
            "former-track", "The extractor of the private track has been replaced, so its campaigns have ended."
        )


def require_switchable(session: Session, status: CampaignStatus, *, complete: bool = True) -> None:
    """``Conflict`` if a campaign's measurements cannot count.

    That is if they are from several scorer versions (``mixed-versions``), the track's references have changed
    (``references-moved``), or a newer campaign is in force. ``complete``: also if there are no measurements
    (``nothing-measured``), or some in another feature space are missing (``not-measured``).
    """
    campaign, versions = status.campaign, status.difference.scorer_versions
    if complete and not status.difference.measured:
        raise Conflict("nothing-measured", "The campaign has not measured any entries yet.")
    if len(versions) > 1:
        raise Conflict(
            "mixed-versions",
            f"The measurements are from scorer versions {' and '.join(versions)}. Start another campaign.",
        )
    if complete and campaign.changes_space and status.missing:
        raise Conflict(
            "not-measured",
            f"{status.missing:,} entries are not measured yet and would have no score. Resume the campaign first.",
        )
    if status.track.preparation_id != campaign.former_preparation_id:
        raise Conflict(
            "references-moved", "The track's references have changed since the campaign began. Start another campaign."
        )
    require_newest(session, status)


def require_newest(session: Session, status: CampaignStatus) -> None:
    """``Conflict`` (``newer-campaign``) while a later campaign of the track is in force."""
    newer = [later.id for later in rescoring.in_force_on(session, status.track.id) if later.id > status.campaign.id]
    if newer:
        raise Conflict(
            "newer-campaign", f"The track already uses the later campaign {newer[0]}. Undo its switch first."
        )
