"""Access to submissions: who may see, review and rule on them."""

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer, is_reviewer
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, visible_state
from scorer.db.competitions import competition_by_slug
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Submission
from scorer.db.teams import members
from scorer.errors import Forbidden, NotFound


def find_submission(session: Session, submission_id: str, account: Account) -> Submission:
    """Return a submission of the account's team, or any for organizers.

    ``NotFound`` otherwise: ids must reveal nothing.
    """
    submission, own = _with_owner(session, submission_id, account)
    if not own and not is_organizer(account, submission.competition_id):
        raise unknown_submission(submission_id)
    return submission


def _with_owner(session: Session, submission_id: str, account: Account) -> tuple[Submission, bool]:
    submission_and_own = submissions.submission_with_owner(session, submission_id, account.id)
    if submission_and_own is None:
        raise unknown_submission(submission_id)
    return submission_and_own


def unknown_submission(submission_id: str | int) -> NotFound:
    """The error for a submission that does not exist or that the account may not see."""
    return NotFound("no-submission", f"There is no submission {submission_id!r}, or it is not yours.")


def is_own(session: Session, submission: Submission, account: Account) -> bool:
    """Whether a submission now belongs to the account's team, also after a merge."""
    return bool(submissions.own_refs(session, [submission.ref], account.id))


def list_submissions(
    session: Session, state: CompetitionState, account: Account, *, before: int | None, limit: int
) -> list[Submission]:
    """Return a page of the submissions of the account's team, or of all teams for organizers, newest first."""
    team_id = None
    if not is_organizer(account, state.competition.id):
        team = members.load_team(session, state.competition.id, account.id)
        if team is None:
            return []
        team_id = team.id
    return list(
        submissions.load_submissions(session, state.competition.id, team_id=team_id, before=before, limit=limit)
    )


def find_by_ref(session: Session, ref: int, account: Account) -> Submission:
    """Return a submission that the account may see; ``NotFound`` otherwise, always with the same message."""
    submission = session.get(Submission, ref)
    if submission is None:
        raise unknown_submission(ref)
    try:
        return find_submission(session, submission.id, account)
    except NotFound:
        raise unknown_submission(ref) from None


def require_reviewer(state: CompetitionState, account: Account) -> None:
    if not is_reviewer(account, state.competition.id):
        raise Forbidden("wrong-role", f"Only organizers and reviewers of {state.competition.title} can do this.")


def require_organizer(acting: Acting, *, slug: str | None = None, submission_id: str | None = None) -> None:
    """``Forbidden`` unless the account organizes the competition, or the submission's competition.

    ``NotFound`` if the account may not see the competition or submission.
    """
    if submission_id is not None:
        submission = submissions.submission_by_id(acting.session, submission_id)
        if submission is None or not is_organizer(acting.actor, submission.competition_id):
            raise unknown_submission(submission_id)
    if slug is not None:
        competition = competition_by_slug(acting.session, slug)
        if competition is None or not is_organizer(acting.actor, competition.id):
            shown = visible_state(acting, slug).competition
            raise Forbidden("wrong-role", f"Only organizers of {shown.title} can do this.")


def find_for_review(session: Session, submission_id: str, account: Account) -> Submission:
    """Return a submission; ``NotFound`` unless the account may review its competition."""
    submission = submissions.submission_by_id(session, submission_id)
    if submission is None or not is_reviewer(account, submission.competition_id):
        raise unknown_submission(submission_id)
    return submission


def find_with_rulings(session: Session, submission_id: str, account: Account) -> tuple[Submission, bool]:
    """Return a submission with rulings that the account may read, and whether it may review the competition.

    The account may read rulings of its team and of competitions that it may review; ``NotFound`` otherwise.
    """
    submission, own = _with_owner(session, submission_id, account)
    reviews = is_reviewer(account, submission.competition_id)
    if not own and not reviews:
        raise unknown_submission(submission_id)
    return submission, reviews
