"""The impact of a different ruling on a submission: ranks and awards recomputed in memory. Nothing is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import board_details, ranked_entries
from scorer.db.newest_rows import newest_row
from scorer.db.tables import Ruling, Submission
from scorer.db.teams.merges import current_team
from scorer.leaderboard.rows import load_ranked_board
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.ranking.awards import Awards
from scorer.ranking.columns import FinalPicks, Ints
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.rank_moves import moves_between
from scorer.ranking.vectorised import RankedBoard, choose_finals, rank_entries
from scorer.review.rulings import RulingKind


@dataclass(frozen=True)
class Win:
    """A rank, and the medal and prize that it wins."""

    rank: int | None
    medal: str | None
    prize: str | None


@dataclass(frozen=True)
class WinChange:
    """A team that would win something different."""

    team: str
    before: Win
    after: Win


@dataclass(frozen=True)
class RulingImpact:
    """The impact of a different ruling on one track's board."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    kind: RulingKind
    track: TrackKind
    before: int | None
    """The current rank of the entry's team; null if it has none."""
    after: int | None
    turns: Sequence[WinChange]
    """The teams that would win something different, by their new ranks."""


def compute_ruling_impacts(session: Session, state: CompetitionState, submission: Submission) -> list[RulingImpact]:
    """The impact of every other ruling on a submission, private track first. Empty for late and benchmark entries. For
    organizers only, because it reveals private ranks."""
    if submission.late or submission.team.benchmark:
        return []
    current = newest_row(session, Ruling, submission_ref=submission.ref)
    judged = {kind: load_ranked_board(session, state, kind).judged for kind in TRACK_KINDS}
    picks = ranked_entries.load_picks(session.connection(), state.competition.id)
    max_picks = state.competition.final_picks
    others = [kind for kind in get_args(RulingKind) if kind != (current.kind if current is not None else "keep")]
    team = current_team(session, submission.team_id).id
    now = _ranked(judged, picks, max_picks)
    impacts = []
    for ruling in others:
        changed = {kind: _with_ruling(entries, submission.ref, ruling) for kind, entries in judged.items()}
        for kind, after in _ranked(changed, picks, max_picks).items():
            award_changes = _award_changes(session, state.awards_on(kind), before=now[kind], after=after)
            ranks = now[kind].find_team_rank(team), after.find_team_rank(team)
            impacts.append(RulingImpact(ruling, kind, *ranks, award_changes))
    return impacts


def _ranked(
    judged: Mapping[TrackKind, JudgedEntries], picks: FinalPicks, max_picks: int
) -> dict[TrackKind, RankedBoard]:
    """The ranked boards of both tracks, private first. The private board ranks the teams' final picks."""
    finals = choose_finals(judged["public"], picks, max_picks)
    return {
        "private": rank_entries(replace(judged["private"], finals=finals)),
        "public": rank_entries(replace(judged["public"], finals=None)),
    }


def _with_ruling(judged: JudgedEntries, ref: int, ruling: RulingKind) -> JudgedEntries:
    rules = judged.rules
    disqualified, waived = (
        _with(refs, ref, ruling == kind) for refs, kind in ((rules.disqualified, "disqualify"), (rules.waived, "waive"))
    )
    return JudgedEntries(judged.columns, replace(rules, disqualified=disqualified, waived=waived))


def _with(refs: Ints, ref: int, among: bool) -> Ints:
    others = refs[refs != ref]
    return np.append(others, ref) if among else others


def _award_changes(session: Session, awards: Awards, *, before: RankedBoard, after: RankedBoard) -> list[WinChange]:
    moves = moves_between(before, after).take_first(awards.last_winning_rank)
    names = board_details.load_team_names(session, moves.team.tolist())
    changes = [
        WinChange(names[team], *(Win(rank or None, *awards.find_award(rank)) for rank in ranks))
        for team, *ranks in zip(*(column.tolist() for column in moves), strict=True)
    ]
    return [change for change in changes if replace(change.before, rank=None) != replace(change.after, rank=None)]
