"""Access to submissions: who may see one, review one, or rule on one."""

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions.competition_state import CompetitionState
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Submission
from scorer.db.teams import members
from scorer.errors import Forbidden, NotFound
from scorer.teams import teams


def find_submission(session: Session, submission_id: str, account: Account) -> Submission:
    """A submission that the account may see: its team's, or any for organizers. ``NotFound`` otherwise, so that ids
    reveal nothing."""
    submission = submissions.submission_by_id(session, submission_id)
    if submission is not None and (is_organizer(account) or is_own(session, submission, account)):
        return submission
    raise unknown_submission(submission_id)


def unknown_submission(submission_id: str | int) -> NotFound:
    """The error for a submission that does not exist or that the account may not see."""
    return NotFound("no-submission", f"There is no submission {submission_id!r}, or it is not yours.")


def is_own(session: Session, submission: Submission, account: Account) -> bool:
    """Whether a submission belongs to the account's team now, whichever team submitted it."""
    team = members.team_of(session, submission.competition_id, account.id)
    return team is not None and team.id == teams.current_team_of(session, submission).id


def list_submissions(
    session: Session, state: CompetitionState, account: Account, *, before: int | None, limit: int
) -> list[Submission]:
    """A page of the submissions of the account's team (of all teams, for organizers), newest first."""
    team_id = None
    if not is_organizer(account):
        team = members.team_of(session, state.competition.id, account.id)
        if team is None:
            return []
        team_id = team.id
    return list(submissions.submissions_of(session, state.competition.id, team_id=team_id, before=before, limit=limit))


def find_by_ref(session: Session, ref: int, account: Account) -> Submission:
    """A submission that the account may see; ``NotFound`` otherwise, with the same message whatever the reason."""
    submission = session.get(Submission, ref)
    if submission is None:
        raise unknown_submission(ref)
    try:
        return find_submission(session, submission.id, account)
    except NotFound:
        raise unknown_submission(ref) from None


def may_review(session: Session, competition_id: int, account: Account) -> bool:
    """Whether the account may review a competition: organizers, and reviewers who do not compete in it, because
    reviewing shows private scores."""
    if account.role == "reviewer":
        return members.team_of(session, competition_id, account.id) is None
    return is_organizer(account)


def require_reviewer(session: Session, state: CompetitionState, account: Account) -> None:
    """``Forbidden`` unless the account may review the competition."""
    if may_review(session, state.competition.id, account):
        return
    if account.role == "reviewer":
        raise Forbidden("competes", "You compete here yourself, so others review this competition.")
    raise Forbidden("wrong-role", f"The desk is for reviewers and organizers; your role is {account.role}.")


def find_for_review(session: Session, submission_id: str, account: Account) -> Submission:
    """A submission, for those who may review its competition; ``NotFound`` for all others."""
    submission = submissions.submission_by_id(session, submission_id)
    if submission is None or not may_review(session, submission.competition_id, account):
        raise unknown_submission(submission_id)
    return submission


def find_with_rulings(session: Session, submission_id: str, account: Account) -> tuple[Submission, bool]:
    """A submission whose rulings the account may read (its team's, or any for those who may review its competition),
    and whether it may review the competition."""
    submission = submissions.submission_by_id(session, submission_id)
    reviews = submission is not None and may_review(session, submission.competition_id, account)
    if submission is None or not (reviews or is_own(session, submission, account)):
        raise unknown_submission(submission_id)
    return submission, reviews


def require_impartial(session: Session, submission: Submission, account: Account) -> None:
    """``Forbidden`` if the submission is of the account's own team."""
    if is_own(session, submission, account):
        raise Forbidden("own-team", "This is an entry of your own team: somebody else judges it.")
