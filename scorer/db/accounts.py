"""SQL for accounts, sessions, API tokens, one-time links and accepted rules."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict
from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    delete,
    func,
    literal,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, joinedload

from scorer.db.newest_rows import newest_row, newest_rows, only_row
from scorer.db.session import count_changed
from scorer.db.tables import (
    Account,
    Identity,
    KnownDevice,
    OneTimeLink,
    RulesAcceptance,
    SecondFactor,
    Table,
    Token,
    Webhook,
    WebSession,
)

NAMES_LOCK = 0x6B6E6E6C
"""The first key of the two-key advisory lock that guards unique handles, names and email addresses."""


def lock_names(session: Session) -> None:
    """Let only one transaction at a time assign handles, names and email addresses."""
    session.execute(select(func.pg_advisory_xact_lock(NAMES_LOCK, 0), func.pg_current_xact_id()))


def account_by_handle(session: Session, handle: str) -> Account | None:
    """The account with this handle, ignoring case. Excludes deleted accounts."""
    named = (func.lower(Account.handle) == handle.lower()) & Account.deleted_at.is_(None)
    return session.scalars(select(Account).where(named)).one_or_none()


def account_by_email(session: Session, email: str) -> Account | None:
    """The account with this confirmed email address, ignoring case. Outside ASCII, PostgreSQL and Python can disagree
    about lower case; these addresses count as different."""
    account = session.scalars(select(Account).where(func.lower(Account.email) == func.lower(email))).one_or_none()
    return account if account is not None and (account.email or "").lower() == email.lower() else None


def account_by_login(session: Session, login: str) -> Account | None:
    """An account by its handle or its email address, which never clash: no handle has an ``@``."""
    return account_by_email(session, login) if "@" in login else account_by_handle(session, login)


def is_name_taken(session: Session, name: str) -> bool:
    """Whether an account has this name or handle, ignoring case and comparing in NFKC."""
    nfkc: ColumnElement[str] = literal_column("NFKC")
    normalized = func.lower(func.normalize(literal(name), nfkc))
    taken = or_(func.lower(func.normalize(Account.name, nfkc)) == normalized, func.lower(Account.handle) == normalized)
    return session.scalar(select(Account.id).where(taken).limit(1)) is not None


def any_admin(session: Session) -> bool:
    return session.scalar(select(Account.id).where(Account.role == "admin").limit(1)) is not None


def active_admins(session: Session) -> Sequence[Account]:
    active = (Account.role == "admin") & Account.suspended_at.is_(None)
    return session.scalars(select(Account).where(active).order_by(Account.id)).all()


@dataclass(frozen=True)
class AccountSummary:
    """An account and its use."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    id: int
    handle: str
    name: str
    role: str
    created_at: datetime
    suspended_at: datetime | None
    """When the account was suspended; null if it is not suspended."""
    last_seen_at: datetime | None
    """When a session or token was last used."""
    sessions: int
    tokens: int
    webhooks: int


def account_summaries(
    session: Session, search: str, *, after: int, limit: int, now: datetime
) -> Sequence[AccountSummary]:
    """Accounts with ``search`` in their handle or name, ignoring case, sorted by id, only those after the id ``after``.
    Excludes deleted accounts."""

    def count(table: type[Table], active: ColumnElement[bool]) -> ScalarSelect[int]:
        return select(func.count()).select_from(table).where(active).scalar_subquery()

    own_sessions = (WebSession.account_id == Account.id) & _is_active(now)
    own_tokens = (Token.account_id == Account.id) & Token.revoked_at.is_(None)
    own_webhooks = (Webhook.account_id == Account.id) & Webhook.ended_at.is_(None)
    seen = func.greatest(
        select(func.max(WebSession.last_seen_at)).where(WebSession.account_id == Account.id).scalar_subquery(),
        select(func.max(Token.last_used_at)).where(Token.account_id == Account.id).scalar_subquery(),
    )
    wanted = or_(
        *(func.strpos(func.lower(column), func.lower(search)) > 0 for column in (Account.handle, Account.name))
    )
    query = (
        select(Account.id, Account.handle, Account.name, Account.role, Account.created_at, Account.suspended_at, seen)
        .add_columns(count(WebSession, own_sessions), count(Token, own_tokens), count(Webhook, own_webhooks))
        .where(wanted, Account.id > after, Account.deleted_at.is_(None))
        .order_by(Account.id)
        .limit(limit)
    )
    return [AccountSummary(*row) for row in session.execute(query)]


def account_by_identity(session: Session, issuer: str, subject: str) -> Account | None:
    identity = only_row(session, Identity, issuer=issuer, subject=subject)
    return identity.account if identity else None


def has_identity(session: Session, account_id: int) -> bool:
    return session.scalar(select(Identity.id).where(Identity.account_id == account_id).limit(1)) is not None


def token_by_digest(session: Session, digest: bytes) -> Token | None:
    """The API token with this SHA-256, with the roles of its account, unless it was revoked."""
    with_roles = joinedload(Token.account).joinedload(Account.competition_roles)
    query = select(Token).where(Token.digest == digest, Token.revoked_at.is_(None))
    return session.scalars(query.options(with_roles)).unique().one_or_none()


def load_tokens(session: Session, account_id: int) -> Sequence[Token]:
    return newest_rows(session, Token, account_id=account_id, revoked_at=None)


def revoke_token(session: Session, account_id: int, token_id: int, *, now: datetime) -> bool:
    """Revoke one of a person's API tokens; False if they have no such token."""
    token = (Token.id == token_id) & (Token.account_id == account_id) & Token.revoked_at.is_(None)
    return count_changed(session, update(Token).where(token).values(revoked_at=now)) == 1


def revoke_tokens(session: Session, account_id: int, now: datetime, *, exclude: Collection[int] = ()) -> None:
    others = (Token.account_id == account_id) & Token.id.not_in(exclude) & Token.revoked_at.is_(None)
    session.execute(update(Token).where(others).values(revoked_at=now))


def withdraw_scope(session: Session, account_id: int, scope: str) -> None:
    tokens = (Token.account_id == account_id) & Token.revoked_at.is_(None)
    session.execute(update(Token).where(tokens).values(scopes=func.array_remove(Token.scopes, scope)))


def session_by_digest(session: Session, digest: bytes, now: datetime) -> WebSession | None:
    """The session with this SHA-256 of its cookie, unless it has ended or expired."""
    return session.scalars(select(WebSession).where(WebSession.digest == digest, _is_active(now))).one_or_none()


def load_sessions(session: Session, account_id: int, now: datetime) -> Sequence[WebSession]:
    """A person's active sessions, the most recently used first."""
    query = select(WebSession).where(WebSession.account_id == account_id, _is_active(now))
    return session.scalars(query.order_by(WebSession.last_seen_at.desc(), WebSession.id.desc())).all()


def waiting_session(session: Session, digest: bytes, now: datetime) -> WebSession | None:
    """The session with this SHA-256 of its cookie that awaits the second factor, locked for this transaction."""
    waiting = (WebSession.digest == digest) & WebSession.awaits_second_factor & _is_open(now)
    return session.scalars(select(WebSession).where(waiting).with_for_update(of=WebSession)).one_or_none()


def load_second_factors(
    session: Session, account_id: int, kinds: Collection[str], *, lock: bool = False
) -> Sequence[SecondFactor]:
    """A person's second factors of some kinds, oldest first. ``lock`` locks them for this transaction."""
    active = (SecondFactor.account_id == account_id) & SecondFactor.kind.in_(kinds) & SecondFactor.ended_at.is_(None)
    query = select(SecondFactor).where(active).order_by(SecondFactor.id)
    return session.scalars(query.with_for_update() if lock else query).all()


def end_second_factors(session: Session, account_id: int, kinds: Collection[str], *, now: datetime) -> None:
    active = (SecondFactor.account_id == account_id) & SecondFactor.kind.in_(kinds) & SecondFactor.ended_at.is_(None)
    session.execute(update(SecondFactor).where(active).values(ended_at=now))


def end_session(session: Session, account_id: int, session_id: int, *, now: datetime) -> bool:
    """End one of a person's sessions; False if they have no such session."""
    one = (WebSession.id == session_id) & (WebSession.account_id == account_id)
    return count_changed(session, update(WebSession).where(one, _is_active(now)).values(ended_at=now)) == 1


def end_sessions(session: Session, account_id: int, now: datetime, *, exclude: int | None = None) -> None:
    others = (WebSession.account_id == account_id) & (WebSession.id.is_distinct_from(exclude))
    session.execute(update(WebSession).where(others, _is_open(now)).values(ended_at=now))


def hold_session(session: Session, session_id: int | None, now: datetime) -> bool:
    """Keep a session open until this transaction ends; False if it has ended. Attempts to end it wait meanwhile."""
    one = (WebSession.id == session_id) & _is_active(now)
    return session.scalar(select(WebSession.id).where(one).with_for_update(read=True)) is not None


def is_known_device(session: Session, account_id: int, digest: bytes, *, now: datetime) -> bool:
    """Whether the browser with this SHA-256 of its cookie is known for a person and has not expired."""
    query = select(KnownDevice.id).where(KnownDevice.account_id == account_id, KnownDevice.digest == digest)
    return session.scalar(query.where(KnownDevice.expires_at > now)) is not None


def remember_device(session: Session, account_id: int, digest: bytes, *, now: datetime, expires_at: datetime) -> None:
    """Make the browser with this SHA-256 of its cookie known for a person until ``expires_at``."""
    values = {"account_id": account_id, "digest": digest, "created_at": now, "expires_at": expires_at}
    statement = insert(KnownDevice).values(values)
    key = (KnownDevice.account_id, KnownDevice.digest)
    session.execute(statement.on_conflict_do_update(index_elements=key, set_={"expires_at": expires_at}))


def forget_devices(session: Session, account_id: int) -> None:
    session.execute(delete(KnownDevice).where(KnownDevice.account_id == account_id))


def lock_link(session: Session, digest: bytes, purpose: str, *, now: datetime) -> OneTimeLink | None:
    """A one-time link that is neither used nor expired, locked for this transaction."""
    query = select(OneTimeLink).where(
        OneTimeLink.digest == digest,
        OneTimeLink.purpose == purpose,
        OneTimeLink.used_at.is_(None),
        OneTimeLink.expires_at > now,
    )
    return session.scalars(query.with_for_update(of=OneTimeLink)).one_or_none()


def void_links(session: Session, account_id: int, purpose: str, *, now: datetime) -> None:
    """Invalidate a person's unused links for this purpose."""
    links = (OneTimeLink.account_id == account_id) & (OneTimeLink.purpose == purpose)
    session.execute(update(OneTimeLink).where(links, OneTimeLink.used_at.is_(None)).values(used_at=now))


def load_acceptance(
    session: Session, competition_id: int, account_id: int, *, rules_sha256: str | None = None
) -> RulesAcceptance | None:
    """A person's newest acceptance of a competition's rules: of the text with this SHA-256, or (None) of any text."""
    text = {} if rules_sha256 is None else {"rules_sha256": rules_sha256}
    return newest_row(session, RulesAcceptance, competition_id=competition_id, account_id=account_id, **text)


def accepted_rules(session: Session, ids: Collection[int], account_id: int) -> set[tuple[int, str]]:
    """The rules of these competitions that a person has accepted: the competition, and the SHA-256 of the text."""
    query = select(RulesAcceptance.competition_id, RulesAcceptance.rules_sha256).where(
        RulesAcceptance.competition_id.in_(ids), RulesAcceptance.account_id == account_id
    )
    return {(competition_id, sha256) for competition_id, sha256 in session.execute(query)}


def accepting_accounts(session: Session, competition_id: int) -> Sequence[int]:
    """The ids of the accounts that have accepted any version of a competition's rules."""
    accepted = select(RulesAcceptance.account_id).where(RulesAcceptance.competition_id == competition_id)
    return session.scalars(accepted.distinct()).all()


def _is_open(now: datetime) -> ColumnElement[bool]:
    return WebSession.ended_at.is_(None) & (WebSession.expires_at > now)


def _is_active(now: datetime) -> ColumnElement[bool]:
    return _is_open(now) & ~WebSession.awaits_second_factor


def lock_account(session: Session, account_id: int) -> None:
    """Let only one transaction at a time decide about a person's account."""
    session.execute(select(Account.id).where(Account.id == account_id).with_for_update(key_share=True)).one()
