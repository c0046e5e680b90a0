"""Rescoring campaigns: entries of a track measured anew, beside what counts."""

from collections.abc import Mapping, Sequence
from typing import Literal

from kennel_client.admin.arguments import Track
from kennel_client.answers.rescoring import CampaignView, SwitchPreviewView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, get
from kennel_client.waiting import wait_until

CampaignAct = Literal["pause", "resume", "cancel", "switch", "undo"]
UNDER_WAY = frozenset({"preparing", "measuring"})


class Campaigns(Methods[Api]):
    """Rescoring campaigns of a competition."""

    @Method
    def all(self, slug: str) -> Operation[list[CampaignView]]:
        """All campaigns, newest first."""
        return all_pages(path_of("competitions", slug, "rescoring"), "campaigns")

    @Method
    def start(
        self,
        slug: str,
        track: Track,
        *,
        reason: str,
        submissions: Sequence[str] | None = None,
        extractor: str | None = None,
        references: Mapping[str, str] | None = None,
    ) -> Operation[CampaignView]:
        """Measure entries anew, when nothing else waits: all that are scored, or those named by their ids; with another
        extractor, or corrected references (role and SHA-256 of what ``references.attach(..., attach=False)`` stored).
        Boards stay as they are until the switch."""
        body = {
            "track": track,
            "reason": reason,
            "submissions": None if submissions is None else list(submissions),
            "extractor": extractor,
            "references": dict(references or {}),
        }
        return call("POST", path_of("competitions", slug, "rescoring"), json=body)

    @Method
    def get(self, slug: str, campaign: int) -> Operation[CampaignView]:
        """A campaign as it is now."""
        return get(_path(slug, campaign))

    @Method
    def wait(self, slug: str, campaign: int) -> Operation[CampaignView]:
        """A campaign once it is prepared and measured, paused, or over."""
        path = _path(slug, campaign)

        def look() -> Operation[CampaignView]:
            return get(path)

        return wait_until(lambda seen: seen["state"] not in UNDER_WAY, look)

    @Method
    def preview(self, slug: str, campaign: int, tau: float | None = None) -> Operation[SwitchPreviewView]:
        """Who would move if the campaign's measurements counted; changes nothing."""
        return get(f"{_path(slug, campaign)}/preview", tau=tau)

    @Method
    def decide(
        self, slug: str, campaign: int, decision: CampaignAct, *, reason: str = "", tau: float | None = None
    ) -> Operation[CampaignView]:
        """Pause, resume or cancel a campaign, let its measurements count (``switch``, with another ``tau`` if one is
        given), or take that back (``undo``)."""
        body = {"decision": decision, "reason": reason, "tau": tau}
        return call("POST", f"{_path(slug, campaign)}/decisions", json=body)


def _path(slug: str, campaign: int) -> str:
    return path_of("competitions", slug, "rescoring", campaign)
