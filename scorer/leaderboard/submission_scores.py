"""What is known of one submission: how far it is, and what was measured, judged with the newest threshold."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.db import competitions
from scorer.db.leaderboard import board
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Measurement, Submission
from scorer.leaderboard import explanations
from scorer.leaderboard.rows import ranked_board_of
from scorer.lifecycle import TRACK_KINDS, TrackKind


@dataclass(frozen=True)
class JudgedMeasurement:
    """A measurement with its judgement."""

    track: TrackKind
    measurement: Measurement
    tau: float | None
    penalised: bool | None
    copy: bool
    disqualified: bool
    mifid: float | None
    rank: int | None
    """The rank of the team on this track where this entry is the team's best one, else None."""
    would_be_rank: int | None
    """The rank that the team would have if this entry were its best one."""
    explanation: str
    """Why the score is what it is, in a sentence."""


def measurements_of(
    session: Session, submission: Submission, account: Account, *, ranked: bool, desk: bool = False
) -> list[JudgedMeasurement]:
    """The measurements that this person may see: public ones, and private ones once published (always, for
    organizers and at the review ``desk``). Ranks may cost a whole board each, so a list asks without (``ranked``)."""
    private = desk or is_organizer(account) or competitions.is_published(session, submission.competition_id)
    found = []
    tracks = competitions.tracks_of(session, submission.competition_id)
    for kind in TRACK_KINDS:
        track = tracks[kind]
        measurement = submissions.newest_measurement(session, submission.ref, track.id)
        if measurement is None or (kind == "private" and not private):
            continue
        row = board.score_of(session, track.id, submission.ref)
        if row is None:
            continue
        rank, would_be = _ranks(session, submission, kind) if ranked else (None, None)
        why = explanations.explain(submission, row)
        judged = (row.tau, row.penalised, row.copy, row.disqualified, row.mifid)
        found.append(JudgedMeasurement(kind, measurement, *judged, rank, would_be, why))
    return found


def _ranks(session: Session, submission: Submission, kind: TrackKind) -> tuple[int | None, int | None]:
    tracks = competitions.tracks_of(session, submission.competition_id)
    order = ranked_board_of(session, submission.competition, tracks, kind, late=submission.late)
    return order.rank_of(submission.ref), order.would_be_rank(submission.ref)
