"""What is known of one submission: how far it is, and what was measured, judged with the newest threshold."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from scorer import verdicts
from scorer.accounts.roles import is_organizer
from scorer.db import competitions
from scorer.db.jobs import job_queue
from scorer.db.leaderboard import board
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Job, Measurement, Submission
from scorer.errors import NotFound
from scorer.lifecycle import TRACK_KINDS, JobState, Queue, TrackKind
from scorer.lines import order_for


@dataclass(frozen=True)
class JobProgress:
    """Where the jobs of a submission are, the private track's included. ``fraction`` (0 to 1) is of the current stage.
    What listeners are told, with estimates and without the private track: :class:`scorer.live.Progress`."""

    stage: str | None
    fraction: float | None
    queue_position: int | None
    private_state: str | None


@dataclass(frozen=True)
class Judged:
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


def progress_of_one(session: Session, submission: Submission) -> JobProgress:
    """How far a submission is, from its jobs."""
    own = job_queue.jobs_of(session, submission.ref)
    shown = [job for job in own if job.priority == 0]
    running = next((job for job in shown if job.state == JobState.RUNNING), None)
    waiting = next((job for job in shown if job.state == JobState.WAITING), None)
    private = [job for job in own if job.priority > 0 and job.queue == Queue.SCORE]
    return JobProgress(
        stage=running.stage if running else None,
        fraction=running.fraction if running else None,
        queue_position=_position(session, waiting),
        private_state=private[-1].state if private else None,
    )


def _position(session: Session, job: Job | None) -> int | None:
    return None if job is None else job_queue.position_of(session, job)


def sprite_key(submission: Submission) -> str:
    """The blob with small versions of some of a submission's images; ``NotFound`` if there is none (yet)."""
    if submission.sprite_key is None:
        raise NotFound("no-sprite", "There is no picture of this entry's images.")
    return submission.sprite_key


def measurements_of(
    session: Session, submission: Submission, account: Account, *, ranked: bool, desk: bool = False
) -> list[Judged]:
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
        why = verdicts.explain(submission, row)
        judged = (row.tau, row.penalised, row.copy, row.disqualified, row.mifid)
        found.append(Judged(kind, measurement, *judged, rank, would_be, why))
    return found


def _ranks(session: Session, submission: Submission, kind: TrackKind) -> tuple[int | None, int | None]:
    tracks = competitions.tracks_of(session, submission.competition_id)
    order = order_for(session, submission.competition, tracks, kind, late=submission.late)
    return order.rank_of(submission.ref), order.would_be_rank(submission.ref)
