"""The uncertainty of a board as JSON: computed once for everybody who may see the board."""

from sqlalchemy.orm import Session

from api.http.etags import etag_of
from api.http.response_cache import ResponseCache
from api.leaderboard.views import UncertaintyView
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account
from scorer.leaderboard import uncertainty
from scorer.lifecycle import TrackKind


def uncertainty_json(
    session: Session, state: CompetitionState, track: TrackKind, *, account: Account | None, cache: ResponseCache
) -> tuple[str, bytes]:
    """The ETag and the body, an :class:`UncertaintyView`; ``Forbidden`` for the private track before publication."""
    etag = etag_of("uncertainty", uncertainty.uncertainty_version(session, state, track, account=account))
    return etag, cache.answer(session, etag, lambda: _body(session, state, track, account=account))


def _body(session: Session, state: CompetitionState, track: TrackKind, *, account: Account | None) -> bytes:
    shown = uncertainty.board_uncertainty(session, state, track, account=account)
    view = UncertaintyView(
        competition=state.competition.slug,
        track=track,
        teams=shown.teams,
        without_error=shown.without_error,
        places=shown.places,
        boundaries=shown.boundaries,
    )
    return view.model_dump_json().encode()
