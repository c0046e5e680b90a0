"""A track's tau: choosing it, seeing before what that does, taking it back."""

from typing import Literal

from kennel_client.admin.arguments import Track
from kennel_client.answers.shared import RankChangeView
from kennel_client.answers.thresholds import AwardMoveView, ChangeView, OptionView, RetuningView, ThresholdView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, get

ThresholdMethod = Literal["margin", "heldout", "otsu", "accuracy", "paper", "manual"]
ImpactList = Literal["penalised", "freed", "borderline", "moves", "medals", "prizes"]
ImpactRow = ChangeView | RankChangeView | AwardMoveView


class Thresholds(Methods[Api]):
    """Thresholds of a track. ``manual`` is the method of a given ``tau``."""

    @Method
    def history(self, slug: str, track: Track) -> Operation[list[ThresholdView]]:
        """The choices of tau, newest first, and what each changed."""
        return all_pages(_path(slug, track), "thresholds")

    @Method
    def choices(self, slug: str, track: Track, alpha: float = 0.0) -> Operation[list[OptionView]]:
        """What every automatic method would choose now, or what it lacks; ``alpha`` is the share of legitimate entries
        that may be penalised."""
        return all_pages(f"{_path(slug, track)}/choices", "choices", alpha=alpha)

    @Method
    def preview(
        self,
        slug: str,
        track: Track,
        method: ThresholdMethod = "margin",
        *,
        tau: float | None = None,
        alpha: float = 0.0,
    ) -> Operation[RetuningView]:
        """What a choice would change; changes nothing. Its lists have their first rows; ``impact`` has all."""
        return get(f"{_path(slug, track)}/impact", method=method, tau=tau, alpha=alpha)

    @Method
    def impact(
        self,
        slug: str,
        track: Track,
        name: ImpactList,
        method: ThresholdMethod = "margin",
        *,
        tau: float | None = None,
        alpha: float = 0.0,
        limit: int | None = None,
    ) -> Operation[list[ImpactRow]]:
        """One list of a preview, whole or its first ``limit`` rows."""
        path = f"{_path(slug, track)}/impact/{name}"
        return all_pages(path, "entries", limit=limit, method=method, tau=tau, alpha=alpha)

    @Method
    def changes(self, slug: str, track: Track, threshold: int, limit: int | None = None) -> Operation[list[ImpactRow]]:
        """What an earlier choice changed."""
        return all_pages(f"{_path(slug, track)}/{threshold}/changes", "entries", limit=limit)

    @Method
    def retune(
        self,
        slug: str,
        track: Track,
        method: ThresholdMethod = "margin",
        *,
        tau: float | None = None,
        alpha: float = 0.0,
        reason: str = "",
        after: int | None = None,
    ) -> Operation[RetuningView]:
        """Choose a track's tau; the answer says what changes. With ``after``, the id of the choice that you have seen,
        it is refused if another one was made since."""
        body = {"method": method, "tau": tau, "alpha": alpha, "reason": reason, "after": after}
        return call("POST", _path(slug, track), json=body)

    @Method
    def undo(self, slug: str, track: Track, reason: str, after: int | None = None) -> Operation[RetuningView]:
        """Take the newest choice back."""
        return call("POST", f"{_path(slug, track)}/undo", json={"reason": reason, "after": after})


def _path(slug: str, track: Track) -> str:
    return path_of("competitions", slug, "tracks", track, "thresholds")
