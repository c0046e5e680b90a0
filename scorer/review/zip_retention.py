"""The retention of zips: some days after the final publication, zips are deleted unless a decision rests on them.

These stay: the zips of all teams that win a medal or prize, those of benchmark entries, and those that somebody has
reviewed, labelled, ruled on or appealed for. Of generators, also those of final picks stay, with their draws. Hashes,
scores and evidence of all entries stay.
"""

from collections.abc import Sequence
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
from scorer.db.review.zip_removal import KeptEntries, RemovedZips, ZipTotal
from scorer.leaderboard.rows import load_listing
from scorer.lifecycle import Phase


@dataclass(frozen=True)
class ZipRetention:
    """The zips that are deleted after publication, or the generators and their draws. Those of winning teams and
    benchmark submissions are kept, and those of submissions with a review, label, ruling or rebuttal. So are generators
    that are final picks, and the hashes, scores and evidence of all submissions."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    kept_days: int | None
    """The days that all zips are kept after publication; null if the operator has set no limit."""
    leave_from: datetime | None
    """When the deletion of zips begins; null before publication, and if all zips are kept."""
    stored: ZipTotal
    leaving: ZipTotal
    """The part of `stored` that will be deleted, as of now."""
    removed: RemovedZips


def zip_retention(session: Session, state: CompetitionState, kept_days: int | None, *, now: datetime) -> ZipRetention:
    competition_id = state.competition.id
    stored = zip_removal.stored_zips(session, competition_id)
    removed = zip_removal.removed_zips(session, competition_id)
    if kept_days is None:
        return ZipRetention(None, None, stored, ZipTotal(0, 0), removed)
    published_at = _published_at(state)
    leave_from = None if published_at is None else published_at + timedelta(days=kept_days)
    leaving = zip_removal.removable_zips(session, competition_id, _kept(session, state), before=now)
    return ZipRetention(kept_days, leave_from, stored, leaving, removed)


def competitions_past_retention(session: Session, kept_days: int, now: datetime) -> Sequence[str]:
    """The slugs of the competitions with zips that may be deleted now."""
    return zip_removal.published_before(session, now - timedelta(days=kept_days))


def take_zips(session: Session, slug: str, kept_days: int, *, now: datetime, limit: int) -> list[str]:
    """Detach at most ``limit`` zips from a competition's entries, and record it. Returns the keys of their blobs, to
    delete after the commit. Empty until the board has been published for ``kept_days``."""
    # Keep others from withdrawing the board meanwhile.
    competitions.lock_competition(session, slug, share=True)
    state = competition_state.load_state(session, slug, now)
    published_at = _published_at(state)
    before = now - timedelta(days=kept_days)
    if published_at is None or published_at >= before:
        return []
    kept = _kept(session, state)
    keys = zip_removal.take_zips(session, state.competition.id, kept, before=before, now=now, limit=limit)
    if keys:
        after = {"zips": len(keys), "kept_days": kept_days}
        audit_log.record_action(Acting(session, None, now), "zips.removed", f"competition:{slug}", after=after)
    return keys


def _published_at(state: CompetitionState) -> datetime | None:
    """When the final board was published; None if it is not."""
    return state.publications[0].created_at if state.phase is Phase.FINAL else None


def _kept(session: Session, state: CompetitionState) -> KeptEntries:
    """The teams on winning ranks of the final board; of generators, also the final picks."""
    board = load_listing(session, state, "private")
    winners = [row.team_id for row in board.page(0, state.awards.last_winning_rank)]
    finals = board.judged.finals
    if state.competition.entries == "images" or finals is None:
        return KeptEntries(winners)
    return KeptEntries(winners, finals.ref.tolist())
