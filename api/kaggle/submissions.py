"""A team's submissions and limits."""

import math
from datetime import datetime

from sqlalchemy.orm import Session

from api.http.dependencies import AppSettings, DbSession, Now
from api.kaggle.protocol import KaggleRouter, Reader
from api.kaggle.schemas import (
    CompetitionRequest,
    LimitsResponse,
    PageRequest,
    SubmissionMessage,
    SubmissionRequest,
    SubmissionsResponse,
)
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Submission
from scorer.leaderboard import submission_scores
from scorer.leaderboard.submission_scores import JudgedMeasurement
from scorer.lifecycle import PENDING, Phase, Status
from scorer.submissions import access
from scorer.teams import quotas, teams
from scorer.teams.quotas import Quota, Refusal

router = KaggleRouter(prefix="/competitions.CompetitionApiService")


@router.post("/GetSubmission")
def get_submission(
    body: SubmissionRequest, session: DbSession, settings: AppSettings, account: Reader, now: Now
) -> SubmissionMessage:
    """One submission."""
    submission = access.find_by_ref(session, body.ref, account)
    state = competition_state.visible_state(session, submission.competition.slug, account, now)
    return _entry(session, state, submission, account, settings.public_url)


@router.post("/ListSubmissions")
def list_submissions(
    body: PageRequest, session: DbSession, settings: AppSettings, account: Reader, now: Now
) -> SubmissionsResponse:
    """The team's submissions, newest first."""
    state = competition_state.visible_state(session, body.competition_name, account, now)
    before = int(body.page_token) if body.page_token else None
    submissions = access.list_submissions(session, state, account, before=before, limit=body.page_size + 1)
    page = submissions[: body.page_size]
    more = len(submissions) > body.page_size
    return SubmissionsResponse(
        submissions=[_entry(session, state, each, account, settings.public_url) for each in page],
        next_page_token=str(page[-1].ref) if more else "",
    )


def _entry(
    session: Session, state: CompetitionState, submission: Submission, account: Account, site: str
) -> SubmissionMessage:
    judged = {
        each.track: each for each in submission_scores.measurements_of(session, submission, account, ranked=False)
    }
    decimals = state.competition.score_decimals
    public = judged.get("public")
    error = _error(submission, public)
    return SubmissionMessage(
        ref=submission.ref,
        total_bytes=submission.bytes,
        date=submission.accepted_at,
        description=submission.note,
        error_description=error,
        file_name=submission.file_name,
        public_score=_score(public, decimals),
        # Not earlier for organizers either: others may see the client's output, or use it with their token.
        private_score=_score(judged.get("private"), decimals) if state.published else "",
        status=_status(submission, error),
        submitted_by=submission.account.handle,
        submitted_by_ref=submission.account.handle,
        team_name=teams.current_team_of(session, submission).name,
        url=f"{site}/submissions/{submission.id}",
    )


def _score(judged: JudgedMeasurement | None, decimals: int) -> str:
    if judged is None or judged.mifid is None or math.isnan(judged.mifid):
        return ""
    return f"{judged.mifid:.{decimals}f}"


def _error(submission: Submission, public: JudgedMeasurement | None) -> str:
    """Why an entry has no score and will get none; empty if it has one or may still get one."""
    if submission.status in PENDING:
        return ""
    if submission.status == Status.SCORED:
        return public.explanation if public is not None and public.copy else ""
    if submission.status == Status.CANCELLED:
        return "Your team has cancelled this entry."
    why = submission.reason or f"This entry is {submission.status}."
    return "\n".join([why, *(f"- {fault}" for fault in submission.faults or ())])


@router.post("/GetSubmissionLimits")
def get_submission_limits(body: CompetitionRequest, session: DbSession, account: Reader, now: Now) -> LimitsResponse:
    """How many entries the team has made, and how many more it may make now."""
    state = competition_state.visible_state(session, body.competition_name, account, now)
    quota = quotas.quota_of(session, state, account, now=now)
    return LimitsResponse(
        num_today=quota.usage.charged,
        num_total=quotas.count_entries(session, state, account),
        num_allowed_now=_remaining_today(state, quota, now),
    )


def _remaining_today(state: CompetitionState, quota: Quota, now: datetime) -> int:
    """The entries that the client prints as left for today. Entries in progress delay the next one but do not count."""
    may_enter = state.phase is Phase.OPEN or competition_state.takes_late(state, now)
    if not may_enter or quota.refusal is Refusal.REJECTED:
        return 0
    if quota.remaining is None:
        return max(0, quota.limits.pending - quota.usage.pending)
    return quota.remaining


def _status(submission: Submission, error: str) -> str:
    if submission.status in PENDING:
        return "PENDING"
    return "ERROR" if error else "COMPLETE"
