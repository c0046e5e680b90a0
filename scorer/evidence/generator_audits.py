"""What came of an entry's generator: how far the work is, what it has found, and who may know."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.db import competitions
from scorer.db.evidence import generators as rows
from scorer.db.jobs import job_queue
from scorer.db.tables import Account, GeneratorFile, Job, Recovery, Submission
from scorer.db.teams import merges
from scorer.errors import Invalid, NotFound, TooLarge
from scorer.evidence.closest_pairs import team_sees_evidence
from scorer.evidence.images import png_of
from scorer.jobs import leases
from scorer.lifecycle import UNFINISHED, JobState
from scorer.metrics.copying.latent_recovery import MIN_SHARE_FOUND, Verdict, is_overfitted
from scorer.notifications import notices
from scorer.submissions.access import find_with_rulings, is_own

AuditState = Literal["waiting", "running", "refused", "failed", "done"]
ImageGroup = Literal["train", "held_out", "generated"]
IMAGE_GROUPS: tuple[ImageGroup, ...] = ("train", "held_out", "generated")
"""Whose images were recovered: those that the generator may have learnt, those that it has not, and its own."""


@dataclass(frozen=True)
class AuditStatus:
    """An entry's generator, and what came of it. ``recovery`` is there for those who may know what was found, and
    ``refusal`` for whoever sees the generator."""

    generator: GeneratorFile
    state: AuditState
    stage: str | None
    fraction: float | None
    queue_position: int | None
    refusal: str | None
    faults: Sequence[str]
    recovery: Recovery | None
    former: Sequence[tuple[GeneratorFile, Recovery]]
    """Earlier generators with what came of them, newest first; for those at the desk."""


@dataclass(frozen=True)
class AuditResult:
    """What a worker has found out about a generator (METRICS A8)."""

    p_value: float | None
    gap: float | None
    recovered_share: float | None
    report: dict[str, Any]
    arrays_key: str
    provenance: dict[str, Any]


def find_generator(session: Session, submission_id: str, account: Account) -> AuditStatus:
    """An entry's generator, for its team and for those at the review desk; ``NotFound`` for others, and without one."""
    submission, _ = find_with_rulings(session, submission_id, account)
    found = audit_status(session, submission, account)
    if found is None:
        raise NotFound("no-generator", "No generator was handed in for this entry.")
    return found


def audit_status(session: Session, submission: Submission, account: Account) -> AuditStatus | None:
    """The generator that counts for an entry which this person may see."""
    generator = rows.newest_generator(session, submission.ref)
    if generator is None:
        return None
    job = rows.newest_audit_job(session, generator.id)
    came = rows.newest_recovery(session, generator.id)
    inside = find_with_rulings(session, submission.id, account)[1]
    may_know = came is not None and came.refusal is None and (inside or team_sees_findings(session, submission))
    waiting = job is not None and job.state == JobState.WAITING
    return AuditStatus(
        generator=generator,
        state=_state(job, came),
        stage=job.stage if job is not None and came is None else None,
        fraction=job.fraction if job is not None and came is None else None,
        queue_position=job_queue.position_of(session, job) if job is not None and waiting else None,
        refusal=came.refusal if came is not None else None,
        faults=(came.faults or ()) if came is not None else (),
        recovery=came if may_know else None,
        former=rows.former_recoveries(session, generator) if inside else (),
    )


def _state(job: Job | None, came: Recovery | None) -> AuditState:
    if came is not None:
        return "done" if came.refusal is None else "refused"
    if job is not None and job.state in UNFINISHED:
        return "running" if job.state == JobState.RUNNING else "waiting"
    return "failed"


def team_sees_findings(session: Session, submission: Submission) -> bool:
    """Whether an entry's team knows what its generator holds: once the final board is published, or somebody has ruled
    on the entry."""
    return competitions.is_published(session, submission.competition_id) or team_sees_evidence(session, submission)


def pairs_key(session: Session, submission_id: str, group: ImageGroup, account: Account) -> str:
    """The blob with the pairs of a group, for whoever may look at them; held-out photographs are shown to organizers
    alone. ``NotFound`` otherwise."""
    found = find_generator(session, submission_id, account)
    hidden = group == "held_out" and not is_organizer(account)
    if found.recovery is None or found.recovery.arrays_key is None or hidden:
        raise NotFound("no-recovered", "There are no recovered images of this entry for you to see.")
    return found.recovery.arrays_key


def verdict_of(came: Recovery) -> Verdict:
    """What the numbers say by the limits of now (METRICS A8): ``inconclusive`` where the search did not find what the
    generator itself has made, ``copies`` if training images are made so much better than fresh ones that chance does
    not explain it."""
    if came.recovered_share is not None and came.recovered_share < MIN_SHARE_FOUND:
        return "inconclusive"
    return "copies" if came.p_value is not None and is_overfitted(came.p_value, came.gap) else "no-sign"


def pairs_sheet(arrays: bytes, group: ImageGroup) -> bytes:
    """A PNG of a group's pairs: targets in the first row, below each what was recovered. ``NotFound`` for none."""
    with np.load(io.BytesIO(arrays), allow_pickle=False) as kept:
        names = f"pairs.{group}.target", f"pairs.{group}.recovered"
        if any(name not in kept for name in names):
            raise NotFound("no-recovered", "No images of this kind were looked for.")
        rows = [np.concatenate(list(kept[name]), axis=1) for name in names]
    return png_of(np.concatenate(rows))


def record_audit(session: Session, claim: leases.Claim, found: AuditResult, *, now: datetime) -> bool:
    """Keep what was found, once; False when the job was no longer that worker's."""
    if not leases.finish_job(session, claim, now):
        return False
    session.add(Recovery(job_id=claim.job_id, generator_id=claim.generator_id, created_at=now, **vars(found)))
    return True


def record_refusal(
    session: Session, claim: leases.Claim, error: Invalid | TooLarge, provenance: dict[str, Any], *, now: datetime
) -> bool:
    """Say why a file cannot be used, and tell whoever can hand in another; False when the job was no longer that
    worker's."""
    if not leases.finish_job(session, claim, now):
        return False
    faults = list(error.faults[:10])
    session.add(
        Recovery(
            job_id=claim.job_id,
            generator_id=claim.generator_id,
            refusal=error.message,
            faults=faults,
            provenance=provenance,
            created_at=now,
        )
    )
    _notify_refusal(
        session, session.get_one(GeneratorFile, claim.generator_id), "\n".join([error.message, *faults]), now
    )
    return True


def _notify_refusal(session: Session, generator: GeneratorFile, why: str, now: datetime) -> None:
    """Tell the team, or the organizer who handed it in."""
    submission = session.get_one(Submission, generator.submission_ref)
    author = generator.author
    subject = f"The generator of {submission.file_name} cannot be used"
    body = f"{subject} in {submission.competition.title}. {why}\n\nAnother file can be handed in on the entry's page."
    kind = notices.Kind.GENERATOR
    page = f"/submissions/{submission.id}"
    if is_own(session, submission, author):
        team = merges.current_team(session, submission.team_id)
        notices.notify_team(session, team.id, kind, subject, body, f"{page}#generator", now)
    else:
        notices.notify(session, author, kind, subject, body, f"{page}/desk#generator", now)
