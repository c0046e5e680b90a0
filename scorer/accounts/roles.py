"""Roles: of accounts (participant, organizer, admin), and of people in a competition (organizer, reviewer).

An organizer's account may open competitions, which gives it no right in those of others. Admins organize every
competition, but for those that they have been in a team of.
"""

from scorer.db.tables import Account
from scorer.errors import Forbidden, Invalid

ROLES = ("participant", "organizer", "admin")
"""What an account may become. Who reviews is named for each competition."""


def _require_known_role(role: str) -> None:
    if role not in ROLES:
        raise Invalid(
            "bad-role",
            f"An account cannot be {role!r}, but {', '.join(ROLES)}. Reviewers are named for each competition.",
        )


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


def load_roles(account: Account) -> Account:
    """The account with its roles loaded, so that they are known outside its session, too."""
    if account.role == "admin":
        _ = account.memberships
    _ = account.competition_roles
    return account


def is_organizer(account: Account | None, competition_id: int) -> bool:
    """Whether this account organizes the competition."""
    if account is None:
        return False
    if account.role == "admin":
        return all(membership.competition_id != competition_id for membership in account.memberships)
    return _role_in(account, competition_id) == "organizer"


def is_reviewer(account: Account | None, competition_id: int) -> bool:
    """Whether this account may review entries of the competition, as its organizers and reviewers may."""
    return is_organizer(account, competition_id) or (
        account is not None and account.role != "admin" and _role_in(account, competition_id) is not None
    )


def may_open_competitions(account: Account) -> bool:
    """Whether this account may open competitions of its own."""
    return account.role in {"organizer", "admin"}


def organizes_any(account: Account) -> bool:
    """Whether this account may run some competition, or open one."""
    held = any(role.held and role.role == "organizer" for role in account.competition_roles)
    return may_open_competitions(account) or held


def reviews_any(account: Account) -> bool:
    """Whether this account may review entries of some competition, or open one."""
    return organizes_any(account) or any(role.held for role in account.competition_roles)


def require_organizes_any(account: Account) -> Account:
    """The account; ``Forbidden`` unless it may run some competition, or open one."""
    if not organizes_any(account):
        raise Forbidden("wrong-role", "This is for the organizers of a competition; you organize none.")
    return account


def require_reviews_any(account: Account) -> Account:
    """The account; ``Forbidden`` unless it may review entries of some competition, or open one."""
    if not reviews_any(account):
        raise Forbidden("wrong-role", "This is for the reviewers and organizers of a competition; you are neither.")
    return account


def _role_in(account: Account, competition_id: int) -> str | None:
    held = (role for role in account.competition_roles if role.competition_id == competition_id and role.held)
    return next((role.role for role in held), None)
