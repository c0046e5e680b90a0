"""The changes that switching a rescoring campaign on or off would make: ranks, medals and prizes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, require_not_final
from scorer.db import rescoring
from scorer.db.tables import RescoringCampaign
from scorer.leaderboard.board_versions import RankChange, rank_changes
from scorer.leaderboard.rows import read_ranked_board
from scorer.lifecycle import TrackKind
from scorer.ranking.rank_moves import moves_between
from scorer.ranking.vectorised import RankedBoard
from scorer.rescoring.campaign_status import load_status
from scorer.rescoring.requirements import require_newest, require_not_replaced, require_state, require_switchable
from scorer.rescoring.switching import tau_after
from scorer.tuning.impact import LISTED, AwardChange, award_changes, award_moves


@dataclass(frozen=True)
class BoardImpact:
    """The changes of one board."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    track: TrackKind
    moves: int
    """How many teams change rank."""
    first_moves: Sequence[RankChange]
    """The first 100 of these teams, in the order of their new ranks."""
    medals: Sequence[AwardChange]
    prizes: Sequence[AwardChange]
    penalised_before: int
    """How many submissions are penalised."""
    penalised_after: int


@dataclass(frozen=True)
class SwitchPreview:
    """What a switch, or undoing it, would change on each board that depends on the track."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    undo: bool
    """Whether this is a preview of undoing the switch, because the campaign is in force."""
    tau: float | None
    """The track's new tau; null if the current one stays."""
    boards: Sequence[BoardImpact]


def preview(
    session: Session, state: CompetitionState, campaign: RescoringCampaign, *, tau: float | None = None
) -> SwitchPreview:
    """The changes of switching a campaign on, or of undoing the switch if it is in force. Raises the errors of the
    switch, except for entries that have not been measured yet."""
    require_not_final(session, state.competition)
    status = load_status(session, campaign)
    require_not_replaced(status.track)
    undo = status.state == "in force"
    if status.state == "cancelled":
        require_state(status, "switch")
    if undo:
        require_newest(session, status)
    else:
        require_switchable(session, status, complete=False)
    in_force = rescoring.in_force_in(session, state.competition.id)
    others = in_force - {campaign.id}
    chosen = tau_after(session, status, undo=undo, tau=tau)
    kinds: list[TrackKind] = ["public", "private"] if status.track.kind == "public" else ["private"]
    boards = []
    for kind in kinds:
        before = read_ranked_board(session, state, kind, campaigns=in_force)
        after = read_ranked_board(
            session,
            state,
            kind,
            campaigns=others if undo else others | {campaign.id},
            taus={} if chosen is None else {status.track.id: chosen},
        )
        boards.append(_impact(session, state, kind, before=before, after=after))
    return SwitchPreview(undo, chosen, boards)


def _impact(
    session: Session, state: CompetitionState, kind: TrackKind, *, before: RankedBoard, after: RankedBoard
) -> BoardImpact:
    moves = moves_between(before, after)
    awards = state.awards_on(kind)
    return BoardImpact(
        track=kind,
        moves=len(moves.team),
        first_moves=rank_changes(session, moves.take(slice(LISTED))),
        medals=award_changes(session, award_moves(moves, awards, "medal")),
        prizes=award_changes(session, award_moves(moves, awards, "prize")),
        penalised_before=_penalised(before),
        penalised_after=_penalised(after),
    )


def _penalised(board: RankedBoard) -> int:
    return int(np.count_nonzero(board.judged.penalised & board.judged.is_competing))
