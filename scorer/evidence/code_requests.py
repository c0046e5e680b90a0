"""Requests for the code of an entry: its team may attach it until then, though the competition has closed."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.db import announcements as rows
from scorer.db.submissions import submissions
from scorer.db.tables import Account, CodeRequest, Submission
from scorer.db.teams import merges
from scorer.errors import Conflict, Invalid, NotFound
from scorer.notifications import notices

MAX_TEXT_LENGTH = 5000
MAX_TIME = timedelta(days=365)


def request_code(
    session: Session, submission_id: str, *, until: datetime, text: str, author: Account, now: datetime
) -> CodeRequest:
    """Ask an entry's team for its code; a later request replaces an earlier one and its deadline. The team gets a
    notice. ``Invalid`` for a deadline that has passed or is more than a year away."""
    submission = submissions.submission_by_id(session, submission_id)
    if submission is None:
        raise NotFound("no-submission", f"There is no submission {submission_id!r}.")
    if submission.team.benchmark or submission.imported:
        raise Conflict("no-code-here", "This entry has no team that could attach its code.")
    if not now < until <= now + MAX_TIME:
        raise Invalid(
            "bad-deadline", f"The deadline is {until:%Y-%m-%d %H:%M} UTC: choose a time within the next 365 days."
        )
    request = CodeRequest(
        submission_ref=submission.ref, until=until, text=text.strip(), author_id=author.id, created_at=now
    )
    session.add(request)
    session.flush()
    after = {"until": until.isoformat(), "text": request.text}
    audit_log.record_action(
        session, "code.requested", f"submission:{submission.id}", actor=author, now=now, after=after
    )
    subject = f"{submission.competition.title}: the code of {submission.file_name} is wanted"
    body = (
        f"The organizers ask your team for the code of entry {submission.ref}, {submission.file_name}, until "
        f"{until:%Y-%m-%d %H:%M} UTC. Attach it on the entry's page. {request.text}"
    )
    team = merges.current_team(session, submission.team_id)
    link = f"/submissions/{submission.id}#code"
    notices.notify_team(session, team.id, notices.Kind.MESSAGE, subject, body.strip(), link, now)
    return request


def newest_request(session: Session, submission: Submission) -> CodeRequest | None:
    """The newest request for the code of an entry."""
    return rows.newest_code_request(session, submission.ref)


def is_wanted(session: Session, submission: Submission, now: datetime) -> bool:
    """Whether the code of an entry is asked for and the deadline has not passed."""
    request = newest_request(session, submission)
    return request is not None and now < request.until
