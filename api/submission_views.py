"""A submission as the person who asks may see it: private numbers never leave before publication."""

import math
from typing import Any

from sqlalchemy.orm import Session

from api.schemas import CodeView, MeasurementView, ProvisionalView, SubmissionView
from scorer.accounts.roles import is_organizer
from scorer.db.tables import Account, CodeAttachment, Submission
from scorer.evidence import code_uploads
from scorer.leaderboard import submission_scores
from scorer.submissions import progress as submissions_progress
from scorer.submissions import provisional_scores
from scorer.teams import teams


def view_of(
    session: Session, submission: Submission, account: Account, *, ranked: bool = True, desk: bool = False
) -> SubmissionView:
    """The submission with its progress and its measurements. ``ranked``: with ranks, which a list does without;
    ``desk``: with private scores, for somebody who sits at the review desk."""
    progress = submissions_progress.progress_of_one(session, submission)
    organizer = is_organizer(account)
    fields: dict[str, Any] = {name: getattr(submission, name, None) for name in SubmissionView.model_fields}
    fields |= {
        "competition": submission.competition.slug,
        "team": teams.current_team_of(session, submission).name,
        "submitted_by": submission.account.handle,
        "stage": progress.stage,
        "fraction": progress.fraction,
        "queue_position": progress.queue_position,
        "provisional": provisional_view(provisional_scores.provisional_score_of(session, submission)),
        "sprite": f"/api/v1/submissions/{submission.id}/sprite" if submission.sprite_key else None,
        "code": code_view(code) if (code := code_uploads.newest_code_of(session, submission)) else None,
        "private_state": progress.private_state if organizer else None,
        "measurements": [
            _measurement(each, organizer=organizer)
            for each in submission_scores.measurements_of(session, submission, account, ranked=ranked, desk=desk)
        ],
    }
    return SubmissionView(**fields)


def provisional_view(found: provisional_scores.ProvisionalScore | None) -> ProvisionalView | None:
    """A provisional score, if there is one."""
    return None if found is None else ProvisionalView(copy_=found.copy, **vars(found))


def code_view(code: CodeAttachment) -> CodeView:
    """What its team sees of attached code: that it is there, and its hash."""
    fields = {name: getattr(code, name) for name in ("kind", "bytes", "sha256", "created_at")}
    return CodeView(**fields, attached_by=code.author.handle)


def _measurement(judged: submission_scores.JudgedMeasurement, *, organizer: bool) -> MeasurementView:
    mifid = judged.mifid
    return MeasurementView(
        track=judged.track,
        fid=judged.measurement.fid,
        memorization_distance=judged.measurement.memorization_distance,
        distance_se=judged.measurement.distance_se,
        tau=judged.tau,
        penalised=judged.penalised,
        copy_=judged.copy,
        disqualified=judged.disqualified,
        mifid=None if mifid is None or math.isnan(mifid) else mifid,
        rank=judged.rank,
        would_be_rank=judged.would_be_rank,
        explanation=judged.explanation,
        histogram=judged.measurement.histogram,
        measured_at=judged.measurement.created_at,
        closest_pairs=judged.measurement.closest_pairs if organizer else None,
        provenance=judged.measurement.provenance if organizer else None,
    )
