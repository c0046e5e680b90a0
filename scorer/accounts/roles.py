"""Roles (participant, reviewer, organizer, admin) and the checks that an account has one."""

from scorer.db.tables import Account
from scorer.errors import Forbidden, Invalid

ROLES = ("participant", "reviewer", "organizer", "admin")


def _require_known_role(role: str) -> None:
    if role not in ROLES:
        raise Invalid("bad-role", f"There is no role {role!r}; roles are {', '.join(ROLES)}.")


def require_role(account: Account, *roles: str) -> Account:
    """The account if it has one of ``roles`` or is an admin; ``Forbidden`` otherwise."""
    if account.role not in (*roles, "admin"):
        raise Forbidden("wrong-role", f"This needs the role {' or '.join(roles) or 'admin'}; yours is {account.role}.")
    return account


def require_active(account: Account) -> Account:
    """The account; ``Forbidden`` while it is suspended."""
    if account.suspended_at is not None:
        raise Forbidden("suspended", "This account is suspended; please write to the organizers.")
    return account


def is_organizer(account: Account | None) -> bool:
    """Whether this account may run competitions (organizers and admins)."""
    return account is not None and account.role in {"organizer", "admin"}
