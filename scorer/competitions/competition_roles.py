"""Roles in a competition: who organizes it, who reviews its entries.

A role is offered, and held from when it is accepted. It does not mix with playing: who has accepted one may see private
scores and others' code, and never enters that competition; who has been in a team of it judges nothing there. Both
sides of that are decided under the lock of the competition's teams.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.accounts import keep_organizers
from scorer.accounts.administration import find_account
from scorer.accounts.roles import is_organizer, reviews_any
from scorer.competitions.competition_state import CompetitionState, state_of
from scorer.db import accounts
from scorer.db import competition_roles as rows
from scorer.db.tables import Account, Competition, CompetitionRole
from scorer.db.teams import members
from scorer.errors import Conflict, Forbidden, NotFound
from scorer.notifications import notices

RoleName = Literal["organizer", "reviewer"]
TASKS = {"organizer": "organize", "reviewer": "review the entries of"}
OFFERED = """{name} ({handle}) asks you to {task} the competition "{competition}". Whoever accepts sees private scores \
and the code of others, and can never enter it. Accept or decline on its page."""
ENDED = """{name} ({handle}) has ended your role in the competition "{competition}"."""


def list_roles(session: Session, state: CompetitionState) -> Sequence[CompetitionRole]:
    """The roles that are offered or held, oldest first."""
    return rows.current_roles(session, state.competition.id)


def add_first_organizer(session: Session, competition: Competition, *, author: Account, now: datetime) -> None:
    """Make the author of a new competition its organizer."""
    role = CompetitionRole(
        competition_id=competition.id,
        account_id=author.id,
        role="organizer",
        author_id=author.id,
        offered_at=now,
        accepted_at=now,
    )
    session.add(role)
    session.flush()
    author.competition_roles.append(role)


def offer(
    session: Session, state: CompetitionState, handle: str, role: RoleName, *, author: Account, now: datetime
) -> CompetitionRole:
    """Offer a person a role, with a notice; idempotent. Who has accepted one before has the new one at once.
    ``Conflict`` for an admin, who organizes every competition, for somebody who has been in a team here, and
    (``last-organizer``) for an organizer without whom nobody would be left to decide disputes."""
    competition = state.competition
    members.lock_changes(session, competition.id)
    account = find_account(session, handle.strip())
    if account.role == "admin":
        raise Conflict("is-admin", f"{account.handle} is an admin: admins organize every competition.")
    _require_no_competitor(session, competition, account)
    earlier = rows.current_role(session, competition.id, account.id)
    if earlier is not None:
        if earlier.role == role:
            return earlier
        with keep_organizers(session):
            earlier.ended_at = now
    knows = rows.has_held_role(session, competition.id, account.id)
    offered = CompetitionRole(
        competition_id=competition.id,
        account_id=account.id,
        account=account,
        role=role,
        author_id=author.id,
        offered_at=now,
        accepted_at=now if knows else None,
    )
    session.add(offered)
    session.flush()
    _record(session, "role.offered", competition, account, role, author=author, now=now)
    text = OFFERED.format(name=author.name, handle=author.handle, task=TASKS[role], competition=competition.title)
    _notify(session, account, competition, f"You are asked to {TASKS[role]} {competition.title}", text, now)
    return offered


def offer_to(session: Session, slug: str, account: Account, now: datetime) -> tuple[CompetitionState, CompetitionRole]:
    """A competition, though it may be a draft, and the role in it that a person is offered or holds; ``NotFound``
    without one."""
    state = state_of(session, slug, now)
    role = rows.current_role(session, state.competition.id, account.id)
    if role is None:
        raise NotFound("no-role", f"You are offered no role in a competition {slug!r}.")
    return state, role


def accept(session: Session, slug: str, *, account: Account, now: datetime) -> CompetitionRole:
    """Accept the role that is offered; idempotent. ``Conflict`` for somebody who has been in a team here."""
    state, _ = offer_to(session, slug, account, now)
    members.lock_changes(session, state.competition.id)
    state, role = offer_to(session, slug, account, now)
    session.refresh(role)
    if role.accepted_at is None and role.ended_at is None:
        _require_no_competitor(session, state.competition, role.account)
        if not reviews_any(role.account):
            accounts.withdraw_scope(session, account.id, "organize")  # nobody prepares a token for a role yet to come
        role.accepted_at = now
        session.flush()
        _record(session, "role.accepted", state.competition, account, role.role, author=account, now=now)
    return role


def end(session: Session, slug: str, handle: str, *, author: Account, now: datetime) -> None:
    """End a role, or take back its offer: one's own, or, for organizers, anybody's. What its holder has seen stays
    seen: they cannot enter. ``NotFound`` if there is none, ``Conflict`` (``last-organizer``) if nobody would be left to
    decide disputes."""
    account = find_account(session, handle.strip())
    state, _ = offer_to(session, slug, account, now)
    competition = state.competition
    members.lock_changes(session, competition.id)
    state, role = offer_to(session, slug, account, now)
    is_own = account.id == author.id
    if not is_own and not is_organizer(author, competition.id):
        raise Forbidden("wrong-role", f"You do not organize {competition.title}.")
    with keep_organizers(session):
        role.ended_at = now
    _record(session, "role.ended", competition, account, role.role, author=author, now=now)
    if not is_own:
        text = ENDED.format(name=author.name, handle=author.handle, competition=competition.title)
        _notify(session, account, competition, f"Your role in {competition.title} has ended", text, now)


def role_of(account: Account, competition: Competition) -> RoleName | None:
    """The role that an account is offered or holds in a competition."""
    roles = (role for role in account.competition_roles if role.competition_id == competition.id)
    return next(("organizer" if role.role == "organizer" else "reviewer" for role in roles if not role.ended_at), None)


def judges_here(session: Session, competition: Competition, account: Account) -> bool:
    """Whether an account may see private scores and code of others in a competition, or has been able to."""
    return is_organizer(account, competition.id) or rows.has_held_role(session, competition.id, account.id)


def require_no_judge(session: Session, competition: Competition, account: Account) -> None:
    """``Forbidden`` for whoever judges in a competition or has: they have seen what competitors may not."""
    if judges_here(session, competition, account):
        raise Forbidden(
            "judges-here",
            "You organize or review this competition, or have, and may know private scores and the code of others: "
            "so you cannot enter it.",
        )


def organizers_of(session: Session, competition: Competition) -> Sequence[Account]:
    """Those who organize a competition: the people named for it and the admins, but for those who compete in it."""
    named = [role.account for role in rows.judges_of(session, competition.id) if role.role == "organizer"]
    return named + [admin for admin in accounts.active_admins(session) if is_organizer(admin, competition.id)]


def judges_to_notify(session: Session, competition: Competition) -> Sequence[Account]:
    """The organizers and reviewers who are named for a competition; the admins where no organizer is."""
    roles = rows.judges_of(session, competition.id)
    judges = [role.account for role in roles]
    if any(role.role == "organizer" for role in roles):
        return judges
    return judges + [admin for admin in organizers_of(session, competition) if admin.role == "admin"]


def _require_no_competitor(session: Session, competition: Competition, account: Account) -> None:
    if rows.has_been_member(session, competition.id, account.id):
        raise Conflict(
            "competes", f"{account.handle} is or has been in a team of this competition, so they judge nothing in it."
        )


def _record(
    session: Session,
    action: str,
    competition: Competition,
    account: Account,
    role: str,
    *,
    author: Account,
    now: datetime,
) -> None:
    after = {"account": account.id, "role": role}  # no name that would outlive a deleted account
    audit_log.record_action(session, action, f"competition:{competition.slug}", actor=author, now=now, after=after)


def _notify(
    session: Session, account: Account, competition: Competition, subject: str, text: str, now: datetime
) -> None:
    link = f"/competitions/{competition.slug}/role"
    notices.notify(session, account, notices.Kind.INVITATION, subject, text, link, now)
