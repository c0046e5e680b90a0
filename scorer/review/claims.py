"""Claims: reviewers are given different submissions first, each for some minutes."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.review import claims
from scorer.db.submissions import submissions
from scorer.db.tables import Account
from scorer.review import flags
from scorer.review.flags import FlaggedEntry

CLAIM_TIME = timedelta(minutes=10)
MAX_RIVALS = 5
"""Reviewers who may claim an entry while the next one is being looked for."""


class NextEntry(NamedTuple):
    """The submission that a reviewer is given, and how many of their open ones precede it."""

    entry: FlaggedEntry
    skip: int


def claim_next(
    session: Session, state: CompetitionState, reviewer: Account, *, skip: int, now: datetime
) -> NextEntry | None:
    """Claim the most decisive submission that this reviewer has still to review, after the first ``skip``: one that
    nobody else has claimed, if there is any. None if nothing is left."""
    competition_id = state.competition.id
    limit = 1 + len(claims.claimants(session, competition_id, reviewer.id, now)) + MAX_RIVALS
    entries = flags.list_flagged(session, state, reviewer, states=["open"], after=skip, limit=limit).entries
    if not entries:
        return None
    place = next((place for place, entry in enumerate(entries) if _is_free(session, state, reviewer, entry, now)), 0)
    claims.claim(session, competition_id, reviewer.id, entries[place].ref, now + CLAIM_TIME)
    return NextEntry(entries[place], skip + place)


def _is_free(session: Session, state: CompetitionState, reviewer: Account, entry: FlaggedEntry, now: datetime) -> bool:
    submissions.lock_submission(session, entry.ref)  # of two who look at once, the second sees the first one's claim
    return entry.ref not in claims.claimants(session, state.competition.id, reviewer.id, now)
