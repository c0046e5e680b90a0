"""SQL for the jobs that measure entries again: those of rescoring campaigns, and those on shown tracks."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import BigInteger, ColumnElement, any_, bindparam, literal, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.tables import Job, RescoringCampaign, ShownTrack, Submission
from scorer.lifecycle import UNFINISHED, JobState, Queue

Purpose = RescoringCampaign | ShownTrack
"""What entries are measured again for."""


def add_campaign_jobs(
    session: Session, campaign: RescoringCampaign, refs: Collection[int], *, queue: Queue, now: datetime
) -> int:
    """Add a job for each of the entries that has no unfinished one for the campaign, in turns between teams; returns
    how many. In the queue ``score`` the jobs measure by the track's own terms, for no campaign."""
    campaign_id = campaign.id if queue is Queue.RESCORE else None
    busy = select(Job.submission_ref).where(
        Job.queue == queue,
        Job.track_id == campaign.track_id,
        Job.state.in_(UNFINISHED),
        Job.campaign_id.is_not_distinct_from(campaign_id),
    )
    return job_queue.add_in_turns(
        session,
        queue,
        _among(refs),
        Submission.ref.not_in(busy),
        now=now,
        track_id=literal(campaign.track_id),
        campaign_id=literal(campaign_id, type_=Job.campaign_id.type),
    )


def add_shown_track_jobs(session: Session, shown: ShownTrack, refs: Collection[int], *, now: datetime) -> int:
    """Add a job for each of the entries that has no unfinished one on the shown track, in turns between teams; returns
    how many."""
    busy = select(Job.submission_ref).where(_is_for(shown), Job.state.in_(UNFINISHED))
    return job_queue.add_in_turns(
        session,
        Queue.RESCORE,
        _among(refs),
        Submission.ref.not_in(busy),
        now=now,
        priority=literal(job_queue.SHOWN_PRIORITY),
        shown_track_id=literal(shown.id),
    )


def _among(refs: Collection[int]) -> ColumnElement[bool]:
    return Submission.ref == any_(bindparam(None, list(refs), type_=ARRAY(BigInteger)))


def _is_for(purpose: Purpose) -> ColumnElement[bool]:
    if isinstance(purpose, ShownTrack):
        return Job.shown_track_id == purpose.id
    return Job.campaign_id == purpose.id


def cancel_jobs(session: Session, purpose: Purpose, now: datetime) -> None:
    """Cancel the unfinished jobs of a campaign or shown track."""
    job_queue.cancel_jobs(session, _is_for(purpose), now=now)


def job_states(session: Session, purpose: Purpose) -> dict[JobState, int]:
    """The newest jobs of the entries of a campaign or on a shown track, counted by state."""
    return job_queue.newest_states(session, _is_for(purpose))


def newest_error(session: Session, purpose: Purpose) -> str | None:
    """The error of the job that failed last, of a campaign or on a shown track."""
    failed = select(Job.error).where(_is_for(purpose), Job.state == JobState.FAILED)
    return session.scalar(failed.order_by(Job.finished_at.desc()).limit(1))


def lock_running_scores(session: Session, track_id: int) -> Sequence[Job]:
    """The score jobs of a track that run, locked for this transaction."""
    running = select(Job).where(Job.queue == Queue.SCORE, Job.track_id == track_id, Job.state == JobState.RUNNING)
    return session.scalars(running.order_by(Job.id).with_for_update(of=Job)).all()
