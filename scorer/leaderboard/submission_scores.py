"""The scores of one submission: its measurement on each track, judged under the newest threshold and explained."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.db import competitions
from scorer.db.leaderboard import board_details
from scorer.db.tables import Account, Measurement, Submission
from scorer.leaderboard import explanations
from scorer.leaderboard.rows import load_ranked_board
from scorer.lifecycle import TRACK_KINDS, TrackKind


@dataclass(frozen=True)
class JudgedMeasurement:
    """A measurement on a track with its current score, penalty, rank and explanation."""

    track: TrackKind
    measurement: Measurement
    tau: float | None
    penalised: bool | None
    copy: bool
    disqualified: bool
    mifid: float | None
    """None for a copy, and while no threshold has been chosen."""
    rank: int | None
    """The team's rank on this track if this entry is the team's best one, else None."""
    would_be_rank: int | None
    """The rank that the team would have if this entry were its best one."""
    explanation: str


def load_measurements(
    session: Session, submission: Submission, account: Account | None, *, ranked: bool
) -> list[JudgedMeasurement]:
    """The measurements that this person (None: a visitor) may see: public ones, and private ones after publication.
    Organizers always see both.

    Set ``ranked`` for single submissions only, because each rank may need a whole board.
    """
    return measurements_by_ref(session, [submission], account, ranked=ranked)[submission.ref]


def measurements_by_ref(
    session: Session, entries: Sequence[Submission], account: Account | None, *, ranked: bool, for_review: bool = False
) -> dict[int, list[JudgedMeasurement]]:
    """:func:`load_measurements` for entries of one competition, by ref. ``for_review`` includes private ones. Without
    ranks, the number of queries does not grow with the number of entries."""
    judged: dict[int, list[JudgedMeasurement]] = {entry.ref: [] for entry in entries}
    if not entries:
        return judged
    boards = competitions.load_boards(session, entries[0].competition)
    may_see_private = for_review or boards.published or is_organizer(account, boards.competition.id)
    for kind in TRACK_KINDS:
        if kind == "private" and not may_see_private:
            continue
        scores = board_details.load_measured_scores(session, boards.tracks[kind].id, list(judged))
        for entry in entries:
            if entry.ref in scores:
                score, measurement = scores[entry.ref]
                board = load_ranked_board(session, boards, kind, late=entry.late) if ranked else None
                judged[entry.ref].append(
                    JudgedMeasurement(
                        track=kind,
                        measurement=measurement,
                        tau=score.tau,
                        penalised=score.penalised,
                        copy=score.copy,
                        disqualified=score.disqualified,
                        mifid=None if isnan(score.mifid) else score.mifid,
                        rank=None if board is None else board.find_entry_rank(entry.ref),
                        would_be_rank=None if board is None else board.would_be_rank(entry.ref),
                        explanation=explanations.explain(entry, score),
                    )
                )
    return judged
