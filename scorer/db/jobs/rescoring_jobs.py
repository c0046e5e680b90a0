"""SQL for the jobs of rescoring campaigns."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import BigInteger, any_, bindparam, func, literal, select
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.tables import Job, RescoringCampaign, Submission
from scorer.lifecycle import UNFINISHED, JobState, Queue


def add_jobs(
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
        Submission.ref == any_(bindparam(None, list(refs), type_=ARRAY(BigInteger))),
        Submission.ref.not_in(busy),
        now=now,
        track_id=literal(campaign.track_id),
        campaign_id=literal(campaign_id, type_=Job.campaign_id.type),
    )


def cancel_jobs(session: Session, campaign_id: int, now: datetime) -> None:
    """Cancel the unfinished jobs of a campaign."""
    job_queue.cancel_jobs(session, Job.campaign_id == campaign_id, now=now)


def job_states(session: Session, campaign_id: int) -> dict[JobState, int]:
    """The newest jobs of a campaign's entries, counted by state."""
    newest = (
        select(Job.state)
        .ext(distinct_on(Job.submission_ref))
        .where(Job.campaign_id == campaign_id)
        .order_by(Job.submission_ref, Job.id.desc())
        .subquery()
    )
    rows = session.execute(select(newest.c.state, func.count()).group_by(newest.c.state))
    return {JobState(state): count for state, count in rows}


def newest_error(session: Session, campaign_id: int) -> str | None:
    """The error of the campaign's job that failed last."""
    failed = select(Job.error).where(Job.campaign_id == campaign_id, Job.state == JobState.FAILED)
    return session.scalar(failed.order_by(Job.finished_at.desc()).limit(1))


def lock_running_scores(session: Session, track_id: int) -> Sequence[Job]:
    """The score jobs of a track that run, locked for this transaction."""
    running = select(Job).where(Job.queue == Queue.SCORE, Job.track_id == track_id, Job.state == JobState.RUNNING)
    return session.scalars(running.order_by(Job.id).with_for_update(of=Job)).all()
