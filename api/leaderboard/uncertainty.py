"""The uncertainty of a board as JSON, computed once for all viewers of the board."""

from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from api.http.etags import compute_etag
from api.http.response_cache import ResponseCache
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account
from scorer.leaderboard import uncertainty
from scorer.leaderboard.uncertainty import BoardUncertainty
from scorer.lifecycle import TrackKind

BOARD_UNCERTAINTY = TypeAdapter(BoardUncertainty)


def uncertainty_json(
    session: Session, state: CompetitionState, track: TrackKind, *, account: Account | None, cache: ResponseCache
) -> tuple[str, bytes]:
    """The ETag and the body, a :class:`BoardUncertainty`; ``Forbidden`` for the private track before publication."""
    etag = compute_etag("uncertainty", uncertainty.uncertainty_version(session, state, track, account=account))

    def body() -> bytes:
        return BOARD_UNCERTAINTY.dump_json(uncertainty.board_uncertainty(session, state, track, account=account))

    return etag, cache.answer(session, etag, body)
