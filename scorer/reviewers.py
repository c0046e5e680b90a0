"""Who may look at other people's entries, and whose entries they judge."""

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions.competition_state import CompetitionState
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Submission
from scorer.db.teams import members
from scorer.errors import Forbidden
from scorer.submissions import is_own, unknown


def has_desk(session: Session, competition_id: int, account: Account) -> bool:
    """Whether this person sits at a competition's review desk: organizers, and reviewers who do not compete in it:
    the desk shows private scores."""
    if account.role == "reviewer":
        return members.team_of(session, competition_id, account.id) is None
    return is_organizer(account)


def require_desk(session: Session, state: CompetitionState, account: Account) -> None:
    """``Forbidden`` for whoever has no place at the desk."""
    if has_desk(session, state.competition.id, account):
        return
    if account.role == "reviewer":
        raise Forbidden("competes", "You compete here yourself, so others review this competition.")
    raise Forbidden("wrong-role", f"The desk is for reviewers and organizers; your role is {account.role}.")


def find(session: Session, submission_id: str, account: Account) -> Submission:
    """An entry, for whoever sits at its competition's desk; to all others it does not exist."""
    submission = submissions.submission_by_id(session, submission_id)
    if submission is None or not has_desk(session, submission.competition_id, account):
        raise unknown(submission_id)
    return submission


def find_case(session: Session, submission_id: str, account: Account) -> tuple[Submission, bool]:
    """An entry whose rulings this person may read: their team's, or at the desk any; and whether they sit there."""
    submission = submissions.submission_by_id(session, submission_id)
    inside = submission is not None and has_desk(session, submission.competition_id, account)
    if submission is None or not (inside or is_own(session, submission, account)):
        raise unknown(submission_id)
    return submission, inside


def require_impartial(session: Session, submission: Submission, account: Account) -> None:
    """``Forbidden`` for whoever would judge an entry of their own team."""
    if is_own(session, submission, account):
        raise Forbidden("own-team", "This is an entry of your own team: somebody else judges it.")
