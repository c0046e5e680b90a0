"""Roles of accounts (participant, organizer, admin), and of people in a competition (organizer, reviewer).

Accounts with the role organizer may create competitions; they have no rights in those of others. Admins organize every
competition except those in which they have been in a team.
"""

from scorer.db.tables import Account
from scorer.errors import Forbidden, Invalid

ROLES = ("participant", "organizer", "admin")
"""The roles of accounts. Reviewers are named for each competition."""


def _require_known_role(role: str) -> None:
    if role not in ROLES:
        raise Invalid(
            "bad-role",
            f"{role!r} is not an account role. Choose one of {', '.join(ROLES)}. Reviewers are "
            "appointed for each competition.",
        )


def require_role(account: Account, *roles: str) -> Account:
    """``Forbidden`` unless the account has one of ``roles`` or is an admin."""
    if account.role not in (*roles, "admin"):
        raise Forbidden(
            "wrong-role", f"This requires the role {' or '.join(roles) or 'admin'}; yours is {account.role}."
        )
    return account


def require_active(account: Account) -> Account:
    """``Forbidden`` while the account is suspended."""
    if account.suspended_at is not None:
        raise Forbidden("suspended", "This account is suspended. Please write to the organizers.")
    return account


def load_roles(account: Account) -> Account:
    """Load the account's roles for use outside its database session."""
    if account.role == "admin":
        _ = account.memberships
    _ = account.competition_roles
    return account


def is_organizer(account: Account | None, competition_id: int) -> bool:
    if account is None:
        return False
    if account.role == "admin":
        return all(membership.competition_id != competition_id for membership in account.memberships)
    return _role_in(account, competition_id) == "organizer"


def is_reviewer(account: Account | None, competition_id: int) -> bool:
    """Whether this account may review entries of the competition: its organizers and reviewers may."""
    return is_organizer(account, competition_id) or (
        account is not None and account.role != "admin" and _role_in(account, competition_id) is not None
    )


def may_open_competitions(account: Account) -> bool:
    return account.role in {"organizer", "admin"}


def organizes_any(account: Account) -> bool:
    """Whether this account organizes a competition or may create one."""
    held = any(role.held and role.role == "organizer" for role in account.competition_roles)
    return may_open_competitions(account) or held


def reviews_any(account: Account) -> bool:
    """Whether this account reviews or organizes a competition or may create one."""
    return organizes_any(account) or any(role.held for role in account.competition_roles)


def require_organizes_any(account: Account) -> Account:
    """``Forbidden`` unless :func:`organizes_any`."""
    if not organizes_any(account):
        raise Forbidden("wrong-role", "Only organizers can do this, and you don't organize any competition.")
    return account


def require_reviews_any(account: Account) -> Account:
    """``Forbidden`` unless :func:`reviews_any`."""
    if not reviews_any(account):
        raise Forbidden(
            "wrong-role", "Only reviewers and organizers can do this, and you have neither role in any competition."
        )
    return account


def _role_in(account: Account, competition_id: int) -> str | None:
    held = (role for role in account.competition_roles if role.competition_id == competition_id and role.held)
    return next((role.role for role in held), None)
