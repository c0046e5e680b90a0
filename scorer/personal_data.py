"""The deletion of an account.

Entries, measurements, rulings and the audit log stay, under the account's number, because others rely on them. Names,
addresses and credentials are erased; a pseudonym replaces the name.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.accounts import require_another_admin
from scorer.accounts.credentials import end_credentials
from scorer.accounts.roles import organizes_any
from scorer.acting import Acting
from scorer.db import personal_data
from scorer.db.tables import Account, Team
from scorer.db.teams import members
from scorer.errors import Conflict
from scorer.notifications import outbox
from scorer.teams import teams

SUBJECT = "Your Kennel account has been deleted"
BODY = """Hello {name},

Your Kennel account {handle} has been deleted. Its entries stay in their competitions under the name "{pseudonym}".
This is the last email to this address.

If you did not delete your account, write to the organizers.
"""


def delete_account(acting: Acting[Account | None], account_id: int) -> None:
    """Delete an account permanently; no actor means the operator.

    ``Conflict`` for an organizer or admin, who must first give up these roles. The account's credentials end, and it
    leaves all teams. A team of one keeps its entries and its rank. The pseudonym replaces its name and the names of
    teams called after the person, including earlier names.
    """
    joined = personal_data.joined_teams(acting.session, account_id)
    for competition_id in sorted({team.competition_id for team in joined}):
        members.lock_changes(acting.session, competition_id)
    members.lock_teams(acting.session, [team.id for team in joined])
    account = acting.session.get_one(Account, account_id, with_for_update={"key_share": True}, populate_existing=True)
    _require_no_duties(acting.session, account)
    end_credentials(acting.session, account, now=acting.now)
    for team in joined:
        if members.load_team(acting.session, team.competition_id, account.id) is team:
            teams.depart(acting.session, team, account, now=acting.now)
    alone = personal_data.team_ids_alone(acting.session, account.id)
    erased = _rename_teams(acting.session, account, joined, alone=alone)
    _erase(acting.session, account, erased, alone=alone, now=acting.now)
    subject = f"account:{account.handle}"
    by_operator = None if acting.actor is not None else {"by": "the operator"}
    audit_log.record_action(acting, "account.deleted", subject, after=by_operator)


def _require_no_duties(session: Session, account: Account) -> None:
    if account.role == "admin":
        require_another_admin(session, account)
    if organizes_any(account):
        raise Conflict(
            "has-duties",
            f"{account.handle} organizes competitions or may create them. End the organizer roles, and ask an admin to "
            "change the account's role to participant. Then delete the account.",
        )


def _rename_teams(session: Session, account: Account, joined: Sequence[Team], *, alone: set[int]) -> set[str]:
    """Give the pseudonym to teams of one and to teams called after the person; return all their earlier names."""
    erased: set[str] = set()
    for team in joined:
        names = {team.name, *personal_data.former_names(session, team.id)}
        erased |= names if team.id in alone else {name for name in names if _is_called_after(account, name)}
        if team.name in erased:
            team.name = teams.first_free_name(session, team.competition_id, [_pseudonym(account)])
            session.flush()
    return erased


def _is_called_after(account: Account, name: str) -> bool:
    return name in {account.name, account.handle} or name.startswith(f"{account.name} ({account.handle})")


def _pseudonym(account: Account) -> str:
    return f"Deleted account {account.id}"


def _erase(session: Session, account: Account, team_names: set[str], *, alone: set[int], now: datetime) -> None:
    # Nobody can choose a handle with a tilde.
    handle, name, email = f"deleted~{account.id}", account.name, account.email
    text = BODY.format(name=name, handle=account.handle, pseudonym=_pseudonym(account))
    account.deleted_at = now
    session.flush()
    personal_data.erase_names(session, account.id, handle, team_names=team_names)
    personal_data.erase_rows(session, account, alone, pseudonym=handle, now=now)
    account.handle, account.name = handle, _pseudonym(account)
    account.email = account.password_hash = None
    account.role = "participant"
    session.flush()
    if email is not None:
        outbox.queue_mail(session, email, SUBJECT, body=text, now=now)
