"""What people are told of a competition that changes: those who have accepted its rules, and those who compete."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from scorer.db.tables import Competition
from scorer.notifications import notices
from scorer.ranking.awards import MEDALS


def notify_changes(
    session: Session, competition: Competition, before: Mapping[str, Any], after: Mapping[str, Any], now: datetime
) -> None:
    """Tell of the fields that have changed from ``before`` to ``after``, as far as they concern those who enter: one
    notice for the close, one for all else."""
    link = f"/competitions/{competition.slug}"
    if "closes_at" in after:
        _notify_deadline(session, competition, before["closes_at"], link, now)
    changes = [words(before[name], after[name]) for name, words in WORDS.items() if name in after]
    if changes:
        subject = f"{competition.title} has changed"
        body = f"{subject}: {'; '.join(changes)}."
        notices.notify_entrants(session, competition, notices.Kind.CHANGE, subject, body, link, now)


def _notify_deadline(
    session: Session, competition: Competition, before: datetime | None, link: str, now: datetime
) -> None:
    closes_at = competition.closes_at
    later = closes_at is None or (before is not None and closes_at > before)
    subject = f"{competition.title} {'has more time' if later else 'closes earlier'}"
    then = f"It closes at {_moment(closes_at)}." if closes_at else "It has no closing date any more."
    was = f" Before, that was to be at {_moment(before)}." if before else ""
    body = f"{subject}. {then}{was}"
    notices.notify_entrants(session, competition, notices.Kind.DEADLINE, subject, body, link, now)


def _moment(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else "no set time"


def _numbers(what: str) -> Callable[[int | None, int | None], str]:
    def words(before: int | None, after: int | None) -> str:
        return f"{what}: {_count(after)}, before {_count(before)}"

    return words


def _count(number: int | None) -> str:
    return "any number" if number is None else f"{number:,}"


def _times(what: str) -> Callable[[datetime | None, datetime | None], str]:
    return lambda before, after: f"{what}: {_moment(after)}, before {_moment(before)}"


def _prizes(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    return f"prizes: {_prize_words(after)}, before {_prize_words(before)}"


def _prize_words(prizes: list[dict[str, Any]]) -> str:
    return ", ".join(f"{each['amount']} for place {each['place']}" for each in prizes) or "none"


def _medals(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    return f"medals: {_medal_words(after)}, before {_medal_words(before)}"


def _medal_words(medals: Mapping[str, int]) -> str:
    return ", ".join(f"{medal} to place {medals[medal]}" for medal in MEDALS if medal in medals)


def _late(_: bool, after: bool) -> str:
    return "entries after the close are scored, too" if after else "entries after the close are not taken any more"


def _public_track(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    described = {"extractor": "the public score is measured with {}", "epsilon": "epsilon of the public score: {}"}
    changed = [name for name in described if before[name] != after[name]]
    return "; ".join(f"{described[name].format(after[name])}, before {before[name]}" for name in changed)


WORDS: Mapping[str, Callable[[Any, Any], str]] = MappingProxyType(
    {
        "rules": lambda *_: "its rules are new: please read and accept them before you enter again",
        "opens_at": _times("it opens"),
        "team_merge_deadline": _times("teams may merge until"),
        "upload_grace_seconds": _numbers("seconds in which an upload begun before the close may finish"),
        "review_days": _numbers("days of review in which teams may appeal"),
        "appeal_days": _numbers("days in which teams may appeal against the provisional board"),
        "daily_limit": _numbers("entries of a team in a UTC day"),
        "pending_limit": _numbers("entries of a team in progress at once"),
        "rejected_limit": _numbers("rejected uploads of a team in a UTC day"),
        "max_team_size": _numbers("members of a team at most"),
        "final_picks": _numbers("entries that a team may pick to be ranked by"),
        "prizes": _prizes,
        "medals": _medals,
        "late_submissions": _late,
        "public": _public_track,
    }
)
"""What is told of a change, by field; of other fields nothing, above all of the private network."""
