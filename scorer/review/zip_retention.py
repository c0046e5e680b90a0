"""The retention of zips: some days after the final publication those leave that no decision rests on.

What a decision rests on stays: the zips of all teams that win a medal or a prize, those of benchmarks, and those that
somebody has reviewed, labelled, ruled on or appealed for. Of the others the hash, the scores and the evidence stay.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db.review import zip_removal
from scorer.db.review.zip_removal import RemovedZips, ZipTotal
from scorer.leaderboard.rows import rows_of
from scorer.lifecycle import Phase


@dataclass(frozen=True)
class ZipRetention:
    """Which zips of entries leave after the publication. Those of winning teams and of benchmarks stay, and those that
    somebody has reviewed, labelled, ruled on or appealed for; hashes, scores and evidence stay of all."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    kept_days: int | None
    """From the publication on, as the operator has set it; null: all stay."""
    leave_from: datetime | None
    """Null before the publication, and where all stay."""
    stored: ZipTotal
    leaving: ZipTotal
    """Of those stored: those that leave then, as things are now."""
    removed: RemovedZips


def zip_retention(session: Session, state: CompetitionState, kept_days: int | None, *, now: datetime) -> ZipRetention:
    """Which zips of a competition leave and when, as things are now."""
    competition_id = state.competition.id
    stored = zip_removal.stored_zips(session, competition_id)
    removed = zip_removal.removed_zips(session, competition_id)
    if kept_days is None:
        return ZipRetention(None, None, stored, ZipTotal(0, 0), removed)
    published_at = _published_at(state)
    leave_from = None if published_at is None else published_at + timedelta(days=kept_days)
    leaving = zip_removal.removable_zips(session, competition_id, _winners(session, state), before=now)
    return ZipRetention(kept_days, leave_from, stored, leaving, removed)


def competitions_past_retention(session: Session, kept_days: int, now: datetime) -> Sequence[str]:
    """The slugs of the competitions whose zips may leave by now and that have any."""
    return zip_removal.published_before(session, now - timedelta(days=kept_days))


def take_zips(session: Session, slug: str, kept_days: int, *, now: datetime, limit: int) -> list[str]:
    """Take zips off entries of a competition, at most ``limit``, and record it; returns the keys of their blobs, to be
    deleted after the commit. None if its board is not published, or not for so long."""
    # Nobody withdraws the board meanwhile.
    competitions.lock_competition(session, slug, share=True)
    state = competition_state.state_of(session, slug, now)
    published_at = _published_at(state)
    before = now - timedelta(days=kept_days)
    if published_at is None or published_at >= before:
        return []
    winners = _winners(session, state)
    keys = zip_removal.take_zips(session, state.competition.id, winners, before=before, now=now, limit=limit)
    if keys:
        after = {"zips": len(keys), "kept_days": kept_days}
        audit_log.record_action(Acting(session, None, now), "zips.removed", f"competition:{slug}", after=after)
    return keys


def _published_at(state: CompetitionState) -> datetime | None:
    """Since when the final board is public; None if it is not."""
    return state.publications[0].created_at if state.phase is Phase.FINAL else None


def _winners(session: Session, state: CompetitionState) -> Collection[int]:
    """The ids of the teams on winning ranks of the final board."""
    return [row.team_id for row in rows_of(session, state, "private").page(0, state.awards.last_winning_rank)]
