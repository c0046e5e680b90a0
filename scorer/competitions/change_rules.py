"""Which fields of a competition can change, and until when. Changes must not break promises to participants. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from scorer.lifecycle import Phase

ENTERED = frozenset({"entries", "draws"})
"""The fields that are fixed by the first entry, also if it is rejected."""
MEASURED = frozenset({"image_count", "image_size", "public", "private"})
"""The fields that checks and measurements of entries depend on."""
DRAFTED = frozenset({"slug", "entries", "image_count", "image_size", "score_decimals"})
"""The fields that can change only in a draft."""
RANKED = frozenset(
    {
        "opens_at",
        "closes_at",
        "team_merge_deadline",
        "upload_grace_seconds",
        "review_days",
        "appeal_days",
        "max_team_size",
        "final_picks",
        "prizes",
        "medals",
    }
)
"""The fields that are fixed by the final board."""
LATER: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(DRAFTED, "no"),
        "draws": "while there are no entries",
        "draws.release": "no",
        "public": "while no entry is scored or in progress",
        "private": "while no entry is scored or in progress; after that, only by choosing another private extractor",
        "opens_at": "while there are no entries",
        "closes_at": "until a board is published; in a competition of generators, not once a board has been published",
        "team_merge_deadline": "until the final board is published",
        "max_team_size": "until the final board is published; not below the size of the largest team",
        "final_picks": "while teams can change their picks; not below the most picks that any team has made",
        "prizes": "until the final board is published; after the deadline, no place can lose its prize",
        "medals": "until the final board is published; after the deadline, no place can lose its medal",
        "upload_grace_seconds": "until the final board is published; after the deadline, it can only increase; in a "
        "competition of generators, not once a board has been published",
        "review_days": "until the final board is published; after the deadline, it can only increase",
        "appeal_days": "until the final board is published; after the provisional board, it can only increase",
    }
)
"""When a field, or a part of it, can change after the draft, as text. Other fields can change at any time."""


@dataclass(frozen=True)
class ChangeFacts:
    phase: Phase
    closed: bool
    """Whether the deadline has passed."""
    picks_open: bool
    has_entries: bool
    """Whether there is a submission in any state."""
    has_live_entries: bool
    """Whether an entry is scored or may still be: it is neither rejected nor cancelled."""
    drawn: bool
    """Whether images of the draws for the final score have been public, so that new entries could fit their latents."""
    largest_team: int
    most_picks: int
    """The largest number of entries that a team has picked."""

    @property
    def published(self) -> bool:
        return self.phase in {Phase.PROVISIONAL, Phase.FINAL}


def fixed_fields(facts: ChangeFacts) -> dict[str, str]:
    """Return the fields that can no longer change, each with the reason as a sentence."""
    is_draft = facts.phase is Phase.DRAFT
    rules: tuple[tuple[bool, Iterable[str], str], ...] = (
        (facts.published, ["closes_at"], "A board is published. Withdraw it first."),
        (not facts.picks_open, ["final_picks"], "Teams can no longer change their picks."),
        (facts.phase is Phase.FINAL, RANKED, "The final board is published. Withdraw it first."),
        (facts.drawn, ["closes_at", "upload_grace_seconds"], "The draws for the final score have been published."),
        (facts.has_entries, ENTERED, "The competition has entries."),
        (facts.has_entries and not is_draft, ["opens_at"], "Teams have submitted entries."),
        (facts.has_live_entries, MEASURED, "Some entries are scored or in progress."),
        (not is_draft, DRAFTED, "The competition is no longer a draft."),
    )
    return {name: reason for applies, names, reason in rules if applies for name in names}


def find_faults(before: Mapping[str, Any], after: Mapping[str, Any], facts: ChangeFacts) -> list[str]:
    """Return one sentence for each field that can't change from ``before`` to ``after``, with the reason."""
    fixed = fixed_fields(facts)
    faults = []
    for name in after:
        reason = fixed.get(name) or (LIMITS[name](before[name], after[name], facts) if name in LIMITS else None)
        if reason:
            faults.append(f"{name}: {reason}")
    return faults


def _final_picks(_: int, after: int, facts: ChangeFacts) -> str | None:
    return f"A team has picked {facts.most_picks} entries." if after < facts.most_picks else None


def _team_size(_: int, after: int, facts: ChangeFacts) -> str | None:
    return f"A team has {facts.largest_team} members." if after < facts.largest_team else None


def _grace(before: int, after: int, facts: ChangeFacts) -> str | None:
    return "After the deadline, it can only increase." if facts.closed and after < before else None


def _appeal_days(before: int, after: int, facts: ChangeFacts) -> str | None:
    return "After the provisional board, it can only increase." if facts.published and after < before else None


def _draws(before: Mapping[str, Any], after: Mapping[str, Any], facts: ChangeFacts) -> str | None:
    changed = before.get("release") != after.get("release") and facts.phase is not Phase.DRAFT
    return "Once the competition is open, the release of generators is fixed." if changed else None


def _medals(before: Mapping[str, int], after: Mapping[str, int], facts: ChangeFacts) -> str | None:
    fewer = any(after[medal] < before[medal] for medal in before)
    return "After the deadline, no place can lose its medal." if facts.closed and fewer else None


def _prizes(before: list[dict[str, Any]], after: list[dict[str, Any]], facts: ChangeFacts) -> str | None:
    lost = {prize["place"] for prize in before} - {prize["place"] for prize in after}
    return "After the deadline, no place can lose its prize." if facts.closed and lost else None


LIMITS: Mapping[str, Callable[[Any, Any, ChangeFacts], str | None]] = MappingProxyType(
    {
        "final_picks": _final_picks,
        "max_team_size": _team_size,
        "upload_grace_seconds": _grace,
        "review_days": _grace,
        "appeal_days": _appeal_days,
        "medals": _medals,
        "draws": _draws,
        "prizes": _prizes,
    }
)
"""Limits on changes of fields that are not fixed. The functions return the fault as a sentence."""
