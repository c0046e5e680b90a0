"""Roles: participant, reviewer, organizer, admin; who has which, and refusing who lacks one."""

from scorer.db.tables import Account
from scorer.errors import Forbidden, Invalid

ROLES = ("participant", "reviewer", "organizer", "admin")


def _require_known_role(role: str) -> None:
    if role not in ROLES:
        raise Invalid("bad-role", f"There is no role {role!r}; roles are {', '.join(ROLES)}.")


def require_role(account: Account, *roles: str) -> Account:
    """Let only accounts with one of ``roles`` (or admins) go on."""
    if account.role not in (*roles, "admin"):
        raise Forbidden("wrong-role", f"This needs the role {' or '.join(roles) or 'admin'}; yours is {account.role}.")
    return account


def is_organizer(account: Account | None) -> bool:
    """Whether this person runs competitions."""
    return account is not None and account.role in {"organizer", "admin"}
