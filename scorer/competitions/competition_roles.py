"""Roles in a competition: its organizers and reviewers.

A person holds a role from accepting the offer. Judges can see private scores and the code of all teams, so they can
never enter that competition, and people who have been in a team there can't become judges. The lock of the
competition's teams guards both rules.
"""

from collections.abc import Sequence
from typing import Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.accounts import find_account, keep_organizers
from scorer.accounts.roles import is_organizer, reviews_any
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db import accounts
from scorer.db import competition_roles as rows
from scorer.db.tables import Account, Competition, CompetitionRole
from scorer.db.teams import members
from scorer.errors import Conflict, Forbidden, NotFound
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText

RoleName = Literal["organizer", "reviewer"]
OFFERED = """{name} ({handle}) offers you the role of {role} in the competition "{competition}". If you accept, you \
can see private scores and the code of all teams, and you can never enter this competition. Accept or decline the role \
on the competition's page."""
ENDED = """{name} ({handle}) has ended your role in the competition "{competition}"."""


def add_first_organizer(acting: Acting, competition: Competition) -> None:
    role = CompetitionRole(
        competition_id=competition.id,
        account_id=acting.actor.id,
        role="organizer",
        author_id=acting.actor.id,
        offered_at=acting.now,
        accepted_at=acting.now,
    )
    acting.session.add(role)
    acting.session.flush()
    acting.actor.competition_roles.append(role)


def offer(acting: Acting, state: CompetitionState, handle: str, *, role: RoleName) -> CompetitionRole:
    """Offer a person a role and notify them; idempotent. A person who has held a role here holds the new one
    immediately.

    ``Conflict`` for an admin, for a person who has been in a team here, and (``last-organizer``) for the last person
    who can decide disputes.
    """
    competition = state.competition
    members.lock_changes(acting.session, competition.id)
    account = find_account(acting.session, handle.strip())
    if account.role == "admin":
        raise Conflict("is-admin", f"{account.handle} is an admin. Admins already organize every competition.")
    _require_no_competitor(acting.session, competition, account)
    earlier = rows.current_role(acting.session, competition.id, account.id)
    if earlier is not None:
        if earlier.role == role:
            return earlier
        with keep_organizers(acting.session):
            earlier.ended_at = acting.now
    knows = rows.has_held_role(acting.session, competition.id, account.id)
    offered = CompetitionRole(
        competition_id=competition.id,
        account_id=account.id,
        account=account,
        role=role,
        author_id=acting.actor.id,
        offered_at=acting.now,
        accepted_at=acting.now if knows else None,
    )
    acting.session.add(offered)
    acting.session.flush()
    _record(acting, "role.offered", competition, account=account, role=role)
    subject = f"You have been offered the role of {role} in {competition.title}"
    _notify(acting, account, competition, subject=subject, text=OFFERED.replace("{role}", role))
    return offered


def offer_to(acting: Acting, slug: str) -> tuple[CompetitionState, CompetitionRole]:
    """Return a competition, even a draft, and the role that the actor is offered or holds; ``NotFound`` without a
    role."""
    state = load_state(acting.session, slug, acting.now)
    role = rows.current_role(acting.session, state.competition.id, acting.actor.id)
    if role is None:
        raise NotFound("no-role", f"You have no role in the competition {slug!r}.")
    return state, role


def accept(acting: Acting, slug: str) -> CompetitionRole:
    """Accept the offered role; idempotent. ``Conflict`` for a person who has been in a team here."""
    state, _ = offer_to(acting, slug)
    members.lock_changes(acting.session, state.competition.id)
    state, role = offer_to(acting, slug)
    acting.session.refresh(role)
    if role.accepted_at is None and role.ended_at is None:
        _require_no_competitor(acting.session, state.competition, role.account)
        if not reviews_any(role.account):
            # No token from before the new role may have its rights.
            accounts.withdraw_scope(acting.session, acting.actor.id, "organize")
        role.accepted_at = acting.now
        acting.session.flush()
        _record(acting, "role.accepted", state.competition, account=acting.actor, role=role.role)
    return role


def end(acting: Acting, slug: str, handle: str) -> None:
    """End a role or its offer: the actor's own, or, for organizers, anybody's. The holder still can't enter.

    ``NotFound`` if there is none, ``Conflict`` (``last-organizer``) for the last person who can decide disputes.
    """
    account = find_account(acting.session, handle.strip())
    state, _ = offer_to(Acting(acting.session, account, acting.now), slug)
    competition = state.competition
    members.lock_changes(acting.session, competition.id)
    state, role = offer_to(Acting(acting.session, account, acting.now), slug)
    is_own = account.id == acting.actor.id
    if not is_own and not is_organizer(acting.actor, competition.id):
        raise Forbidden("wrong-role", f"Only organizers of {competition.title} can do this.")
    with keep_organizers(acting.session):
        role.ended_at = acting.now
    _record(acting, "role.ended", competition, account=account, role=role.role)
    if not is_own:
        _notify(acting, account, competition, subject=f"Your role in {competition.title} has ended", text=ENDED)


def find_role(account: Account, competition: Competition) -> RoleName | None:
    """Return the role that an account is offered or holds in a competition."""
    roles = (role for role in account.competition_roles if role.competition_id == competition.id)
    return next(("organizer" if role.role == "organizer" else "reviewer" for role in roles if not role.ended_at), None)


def judges_here(session: Session, competition: Competition, account: Account) -> bool:
    """Whether an account can or could see private scores and the code of all teams in a competition."""
    return is_organizer(account, competition.id) or rows.has_held_role(session, competition.id, account.id)


def require_no_judge(session: Session, competition: Competition, account: Account) -> None:
    """``Forbidden`` for current and earlier organizers and reviewers."""
    if judges_here(session, competition, account):
        raise Forbidden(
            "judges-here",
            "You can't enter this competition, because you are or were one of its organizers or reviewers and may know "
            "private scores and the code of other teams.",
        )


def load_organizers(session: Session, competition: Competition) -> Sequence[Account]:
    """Return the organizers: the people named for the competition, and the admins who do not compete in it."""
    named = [role.account for role in rows.load_judges(session, competition.id) if role.role == "organizer"]
    return named + [admin for admin in accounts.active_admins(session) if is_organizer(admin, competition.id)]


def judges_to_notify(session: Session, competition: Competition) -> Sequence[Account]:
    """Return the organizers and reviewers named for a competition, and the admins if it has no named organizer."""
    roles = rows.load_judges(session, competition.id)
    judges = [role.account for role in roles]
    if any(role.role == "organizer" for role in roles):
        return judges
    return judges + [admin for admin in load_organizers(session, competition) if admin.role == "admin"]


def _require_no_competitor(session: Session, competition: Competition, account: Account) -> None:
    if rows.has_been_member(session, competition.id, account.id):
        raise Conflict(
            "competes",
            f"{account.handle} is or was in a team of this competition, so they can't organize or review it.",
        )


def _record(acting: Acting, action: str, competition: Competition, *, account: Account, role: str) -> None:
    after = {"account": account.id, "role": role}  # no name: it would remain after the account is deleted
    audit_log.record_action(acting, action, f"competition:{competition.slug}", after=after)


def _notify(acting: Acting, account: Account, competition: Competition, *, subject: str, text: str) -> None:
    body = text.format(name=acting.actor.name, handle=acting.actor.handle, competition=competition.title)
    notice = NoticeText(Kind.INVITATION, subject, body, f"/competitions/{competition.slug}/role")
    notices.notify(acting.session, notice, acting.now, accounts=[account.id])
