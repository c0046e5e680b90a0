"""Claims: reviewers are given different submissions first, each for some minutes."""

from datetime import timedelta
from typing import NamedTuple

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.review import claims
from scorer.db.submissions import submissions
from scorer.review import flags
from scorer.review.flags import FlaggedEntry

CLAIM_TIME = timedelta(minutes=10)
MAX_RIVALS = 5
"""Reviewers who may claim an entry while the next one is being looked for."""


class NextEntry(NamedTuple):
    """The submission that a reviewer is given, and how many of their open ones precede it."""

    entry: FlaggedEntry
    skip: int


def claim_next(acting: Acting, state: CompetitionState, *, skip: int) -> NextEntry | None:
    """Claim the most decisive submission that this reviewer has still to review, after the first ``skip``: one that
    nobody else has claimed, if there is any. None if nothing is left."""
    competition_id = state.competition.id
    limit = 1 + len(claims.claimants(acting.session, competition_id, acting.actor.id, acting.now)) + MAX_RIVALS
    entries = flags.list_flagged(acting.session, state, acting.actor, states=["open"], after=skip, limit=limit).entries
    if not entries:
        return None
    place = next((place for place, entry in enumerate(entries) if _is_free(acting, state, entry)), 0)
    claims.claim(acting.session, competition_id, acting.actor.id, entries[place].ref, acting.now + CLAIM_TIME)
    return NextEntry(entries[place], skip + place)


def _is_free(acting: Acting, state: CompetitionState, entry: FlaggedEntry) -> bool:
    # Of two who look at the same time, the second one sees the claim of the first one.
    submissions.lock_submission(acting.session, entry.ref)
    return entry.ref not in claims.claimants(acting.session, state.competition.id, acting.actor.id, acting.now)
