"""Who may see which board, by track and moment."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions.board_terms import awards_at
from scorer.competitions.competition_state import CompetitionState, visible_track
from scorer.db.competitions import is_published, tracks_at
from scorer.db.tables import Account, Track
from scorer.errors import Forbidden, Invalid
from scorer.lifecycle import TrackKind, phase_at
from scorer.ranking.awards import NO_AWARDS, Awards, board_awards


def find_board_state(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    *,
    account: Account | None,
    late: bool,
    as_of: datetime | None,
) -> tuple[Track, CompetitionState, Awards]:
    """The track of a board, the competition with the tracks of that moment, and what the board's ranks win (or won
    then).

    Raises the errors of :func:`scorer.leaderboard.standings.standings`, for example if this person may not see the
    track.
    """
    track, competition = visible_track(state, kind, account), state.competition
    if as_of is not None and kind == "private" and not is_organizer(account, competition.id):
        _require_published(session, competition.id, as_of)
    if late and kind != "public":
        raise Invalid("late-is-public", "Late entries are scored on the public track only. Request the public board.")
    awards = state.awards_on(kind)
    if as_of is not None:
        phase = phase_at(as_of, opens_at=competition.opens_at, closes_at=competition.closes_at, published=None)
        awards = board_awards(awards_at(session, competition, as_of), kind, phase)
        state = replace(state, tracks=tracks_at(session, state.tracks, as_of))
    return track, state, NO_AWARDS if late else awards


def require_past(as_of: datetime | None, now: datetime) -> None:
    """``Invalid`` (``not-yet``) for a moment in the future."""
    if as_of is not None and as_of > now:
        raise Invalid("not-yet", "The requested time is in the future. Choose a past time.")


def _require_published(session: Session, competition_id: int, as_of: datetime) -> None:
    if not is_published(session, competition_id, as_of):
        raise Forbidden(
            "not-published-then", "The private board was not published at that time. Choose a time at which it was."
        )
