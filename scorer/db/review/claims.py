"""SQL for reviewers' claims of submissions."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from scorer.db.tables import Account, ReviewClaim


def claimants(session: Session, competition_id: int, account_id: int, *, now: datetime) -> dict[int, str]:
    """The handle of the person who is reviewing a submission, by ref. Excludes the account itself."""
    claims = (
        select(ReviewClaim.submission_ref, Account.handle)
        .join(Account, Account.id == ReviewClaim.account_id)
        .where(ReviewClaim.competition_id == competition_id, ReviewClaim.account_id != account_id)
        .where(ReviewClaim.expires_at > now)
    )
    return {claim.submission_ref: claim.handle for claim in session.execute(claims)}


def claim(session: Session, competition_id: int, account_id: int, *, ref: int, expires_at: datetime) -> None:
    """Claim this submission for a reviewer, in place of their earlier claim."""
    claimed = {"submission_ref": ref, "expires_at": expires_at}
    row = insert(ReviewClaim).values(competition_id=competition_id, account_id=account_id, **claimed)
    key = [ReviewClaim.competition_id, ReviewClaim.account_id]
    session.execute(row.on_conflict_do_update(index_elements=key, set_=claimed))
