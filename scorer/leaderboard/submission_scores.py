"""The scores of one submission: its measurement on each track, judged with the newest threshold and explained."""

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
    """A measurement on a track with what follows from it now: score, penalty, rank, explanation."""

    track: TrackKind
    measurement: Measurement
    tau: float | None
    penalised: bool | None
    copy: bool
    disqualified: bool
    mifid: float | None
    rank: int | None
    """The team's rank on this track if this entry is the team's best one, else None."""
    would_be_rank: int | None
    """The rank that the team would have if this entry were its best one."""
    explanation: str
    """Why the score is what it is, in a sentence."""


def measurements_of(
    session: Session, submission: Submission, account: Account | None, *, ranked: bool, for_review: bool = False
) -> list[JudgedMeasurement]:
    """The measurements that this person (None: anybody) may see: public ones, and private ones once published (always,
    for organizers and ``for_review``). Each rank may cost a whole board, so lists do without (``ranked``)."""
    competition_id = submission.competition_id
    may_see_private = (
        for_review or is_organizer(account, competition_id) or competitions.is_published(session, competition_id)
    )
    measurements = []
    tracks = competitions.tracks_of(session, submission.competition_id)
    for kind in TRACK_KINDS:
        track = tracks[kind]
        measurement = submissions.newest_measurement(session, submission.ref, track.id)
        if measurement is None or (kind == "private" and not may_see_private):
            continue
        score = board.score_of(session, track.id, submission.ref)
        if score is None:
            continue
        rank, would_be = _ranks(session, submission, kind) if ranked else (None, None)
        explanation = explanations.explain(submission, score)
        judged = (score.tau, score.penalised, score.copy, score.disqualified, score.mifid)
        measurements.append(JudgedMeasurement(kind, measurement, *judged, rank, would_be, explanation))
    return measurements


def _ranks(session: Session, submission: Submission, kind: TrackKind) -> tuple[int | None, int | None]:
    tracks = competitions.tracks_of(session, submission.competition_id)
    board = ranked_board_of(session, submission.competition, tracks, kind, late=submission.late)
    return board.rank_of(submission.ref), board.would_be_rank(submission.ref)
