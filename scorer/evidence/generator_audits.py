"""Generator audits: their state and result, who may see them, and recording them."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.db import competitions
from scorer.db.evidence import generators as rows
from scorer.db.evidence import shared_images
from scorer.db.jobs import job_queue
from scorer.db.newest_rows import newest_row
from scorer.db.tables import Account, GeneratorFile, Job, Recovery, Submission
from scorer.db.teams import merges
from scorer.errors import Invalid, NotFound, TooLarge
from scorer.evidence.closest_pairs import team_sees_evidence
from scorer.evidence.images import build_pairs_png
from scorer.jobs import leases
from scorer.lifecycle import UNFINISHED, JobState
from scorer.metrics.copying.latent_recovery import MIN_SHARE_FOUND, TargetKind, Verdict, is_overfitted
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.submissions.access import find_with_rulings, is_own

AuditState = Literal["waiting", "running", "refused", "failed", "done"]
HELD_OUT_GROUPS = frozenset[TargetKind]({"held_out", "near_held_out"})
"""The groups that only organizers may see."""


@dataclass(frozen=True)
class AuditStatus:
    """An entry's generator and the state of its audit, as one person may see it.

    Everybody who may see the generator may see ``refusal``. ``recovery`` is only for people who may know the result.
    """

    generator: GeneratorFile
    state: AuditState
    stage: str | None
    fraction: float | None
    queue_position: int | None
    refusal: str | None
    faults: Sequence[str]
    recovery: Recovery | None
    former: Sequence[tuple[GeneratorFile, Recovery]]
    """Earlier generators with their results, newest first; only for reviewers and organizers."""
    sees_held_out: bool
    """Whether this person may see held-out images. Only organizers may."""


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit as it is recorded; docs/explanation/metrics.md#latent-recovery-metrics."""

    p_value: float | None
    gap: float | None
    recovered_share: float | None
    report: dict[str, Any]
    arrays_key: str
    provenance: dict[str, Any]


def find_generator(session: Session, submission_id: str, account: Account) -> AuditStatus:
    """An entry's generator, for its team, reviewers and organizers. ``NotFound`` for others, and if there is none."""
    submission, _ = find_with_rulings(session, submission_id, account)
    status = audit_status(session, submission, account)
    if status is None:
        raise NotFound("no-generator", "This entry has no generator.")
    return status


def audit_status(session: Session, submission: Submission, account: Account) -> AuditStatus | None:
    """The newest generator of an entry, if this person may see it, or None. The team sees the audit of an entry that is
    a generator together with its result, because reviewers start it."""
    generator = newest_row(session, GeneratorFile, submission_ref=submission.ref)
    if generator is None:
        return None
    job = job_queue.newest_job(session, generator_id=generator.id)
    recovery = newest_row(session, Recovery, generator_id=generator.id)
    reviews = find_with_rulings(session, submission.id, account)[1]
    may_know = reviews or team_sees_findings(session, submission)
    if generator.is_entry and not may_know:
        return None
    waiting = job is not None and job.state == JobState.WAITING
    return AuditStatus(
        generator=generator,
        state=_state(job, recovery),
        stage=job.stage if job is not None and recovery is None else None,
        fraction=job.fraction if job is not None and recovery is None else None,
        queue_position=job_queue.load_position(session, job) if job is not None and waiting else None,
        refusal=recovery.refusal if recovery is not None else None,
        faults=(recovery.faults or ()) if recovery is not None else (),
        recovery=recovery if may_know and recovery is not None and recovery.refusal is None else None,
        former=rows.earlier_recoveries(session, generator) if reviews else (),
        sees_held_out=is_organizer(account, submission.competition_id),
    )


def _state(job: Job | None, recovery: Recovery | None) -> AuditState:
    if recovery is not None:
        return "done" if recovery.refusal is None else "refused"
    if job is not None and job.state in UNFINISHED:
        return "running" if job.state == JobState.RUNNING else "waiting"
    return "failed"


def team_sees_findings(session: Session, submission: Submission) -> bool:
    """Whether an entry's team may see the result of its generator's audit: after a ruling on the entry, or once a
    provisional or final board is published."""
    return competitions.is_published(session, submission.competition_id) or team_sees_evidence(session, submission)


def pairs_key(session: Session, submission_id: str, group: TargetKind, *, account: Account) -> str:
    """The blob key of a group's pairs, if this person may see them. ``NotFound`` otherwise. Only organizers see
    held-out images."""
    status = find_generator(session, submission_id, account)
    recovery = status.recovery
    hidden = group in HELD_OUT_GROUPS and not status.sees_held_out
    if recovery is None or recovery.arrays_key is None or hidden:
        raise NotFound("no-recovered", "This entry has no recovered images that you can see.")
    return recovery.arrays_key


def decide_verdict(recovery: Recovery) -> Verdict:
    """The verdict on an audit's numbers under the current limits; docs/explanation/metrics.md#latent-recovery-metrics.

    ``inconclusive`` if the search did not recover the generator's own images. ``copies`` if training images are
    recovered so much better than held-out images that chance does not explain it. Otherwise ``no-sign``.
    """
    if recovery.recovered_share is not None and recovery.recovered_share < MIN_SHARE_FOUND:
        return "inconclusive"
    return "copies" if recovery.p_value is not None and is_overfitted(recovery.p_value, recovery.gap) else "no-sign"


def pairs_sheet(arrays: bytes, group: TargetKind) -> bytes:
    """A PNG of a group's pairs: targets in the first row, recovered images in the second. ``NotFound`` without
    pairs."""
    with np.load(io.BytesIO(arrays), allow_pickle=False) as stored:
        names = f"pairs.{group}.target", f"pairs.{group}.recovered"
        if any(name not in stored for name in names):
            raise NotFound("no-recovered", "The generator audit did not search for images of this kind.")
        return build_pairs_png(zip(*(stored[name] for name in names), strict=True))


def record_audit(
    session: Session, claim: leases.Claim, result: AuditResult, *, recovered: Mapping[int, float], now: datetime
) -> bool:
    """Record an audit's result and finish its job; False if the claim no longer holds the job. ``recovered``: the
    shares of images of other entries' generators that it found, by ref."""
    if not leases.finish_job(session, claim, now):
        return False
    submission = session.get_one(Submission, claim.job.submission_ref)
    shared_images.add_pairs(
        session,
        [
            {
                "submission_ref": max(submission.ref, ref),
                "other_ref": min(submission.ref, ref),
                "competition_id": submission.competition_id,
                "images": 0,
                "equal": 0,
                "share": 0.0,
                "examples": [],
                "recovered": share,
                "created_at": now,
            }
            for ref, share in recovered.items()
        ],
    )
    session.add(Recovery(job_id=claim.job.id, generator_id=claim.job.generator_id, created_at=now, **vars(result)))
    return True


def record_refusal(
    session: Session, claim: leases.Claim, error: Invalid | TooLarge, *, provenance: dict[str, Any], now: datetime
) -> bool:
    """Record why a file cannot be used, and notify people who can upload another one. False if the claim no longer
    holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    faults = list(error.faults[:10])
    session.add(
        Recovery(
            job_id=claim.job.id,
            generator_id=claim.job.generator_id,
            refusal=error.message,
            faults=faults,
            provenance=provenance,
            created_at=now,
        )
    )
    generator = session.get_one(GeneratorFile, claim.job.generator_id)
    if not generator.is_entry:
        _notify_refusal(session, generator, "\n".join([error.message, *faults]), now=now)
    return True


def _notify_refusal(session: Session, generator: GeneratorFile, why: str, *, now: datetime) -> None:
    submission = session.get_one(Submission, generator.submission_ref)
    author = generator.author
    subject = f"The generator for {submission.file_name} cannot be used"
    body = f"{subject} in {submission.competition.title}. {why}\n\nYou can upload another file on the entry's page."
    page = f"/submissions/{submission.id}"
    if is_own(session, submission, author):
        team = merges.current_team(session, submission.team_id)
        notices.notify(session, NoticeText(Kind.GENERATOR, subject, body, f"{page}#generator"), now, teams=[team.id])
    else:
        notice = NoticeText(Kind.GENERATOR, subject, body, f"{page}/review#generator")
        notices.notify(session, notice, now, accounts=[author.id])
