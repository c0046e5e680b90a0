"""``kennel admin account create``: accounts, directly in the database, for operators."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kennel_client.cli.output import Answer, answers

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from scorer.db.tables import Account
    from scorer.settings import Settings

app = typer.Typer()
Data = Annotated[Path | None, typer.Option(help="The data folder of a `kennel up` that is running.")]


@contextmanager
def _database(data: Path | None) -> Iterator["tuple[Session, Settings]"]:
    """A transaction directly in the database (``DATABASE_URL``, or that of ``--data``), which needs no token."""
    from deploy.standalone.data_folder import settings_of
    from scorer.db.session import connected

    settings = settings_of(data)
    with connected(settings) as sessions, sessions.begin() as session:
        yield session, settings


@answers(app)
def create_admin(handle: str, data: Data = None) -> Answer:
    """Make an admin, or give an existing one a new token.

    Works directly in the database: DATABASE_URL, or --data.
    """
    from scorer.accounts import accounts, roles
    from scorer.db.accounts import account_by_handle

    now = datetime.now(UTC)
    with _database(data) as (session, _):
        account = account_by_handle(session, handle)
        if account is None:
            account = accounts.create_account(session, handle=handle, name="", role="admin", now=now)
        return _new_token(session, roles.require_role(account), now)


@answers(app)
def token(handle: str, data: Data = None) -> Answer:
    """Print a new API token of an account, with all scopes that its role may have.

    Works directly in the database: DATABASE_URL, or --data.
    """
    from scorer.accounts.administration import find_account

    with _database(data) as (session, _):
        return _new_token(session, find_account(session, handle), datetime.now(UTC))


def _new_token(session: "Session", account: "Account", now: datetime) -> Answer:
    from scorer import audit_log
    from scorer.accounts import api_tokens
    from scorer.acting import Acting

    secret = secrets.token_urlsafe(32)
    api_tokens.issue(session, account, secret, name="made by the operator", now=now)
    subject = f"account:{account.handle}"
    audit_log.record_action(Acting(session, None, now), "token.made", subject, after={"by": "the operator"})
    return Answer({"handle": account.handle, "token": secret}, secret)


@answers(app)
def reset_link(handle: str, data: Data = None) -> Answer:
    """Print a link with which somebody sets their password, within an hour.

    Works directly in the database: DATABASE_URL, or --data.
    """
    from scorer import audit_log
    from scorer.accounts import password_resets
    from scorer.accounts.administration import find_account
    from scorer.acting import Acting

    secret = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    with _database(data) as (session, settings):
        account = find_account(session, handle)
        link = password_resets.link_for(session, account, secret=secret, site=settings.public_url, now=now)
        audit_log.record_action(
            Acting(session, None, now), "reset-link.made", f"account:{account.handle}", after={"by": "the operator"}
        )
    return Answer({"handle": handle, "link": link}, link)


@answers(app)
def remove_second_factor(handle: str, data: Data = None) -> Answer:
    """Take the second factor from somebody who has lost it, with its recovery codes.

    Works directly in the database: DATABASE_URL, or --data.
    """
    from scorer.accounts import second_factors
    from scorer.accounts.administration import find_account
    from scorer.acting import Acting

    with _database(data) as (session, _):
        account = find_account(session, handle)
        second_factors.remove_all(Acting(session, None, datetime.now(UTC)), account)
    return Answer({"handle": handle}, f"{handle} signs in with the password alone.")


@answers(app, "delete")
def delete_account(
    handle: str,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data: Data = None,
) -> Answer:
    """Delete an account for good, for somebody who asks for it and cannot sign in.

    Works directly in the database: DATABASE_URL, or --data.

    Entries stay under a pseudonym. People who can sign in do it on their page /account, or with kennel delete-account.
    """
    from scorer import personal_data
    from scorer.accounts.administration import find_account
    from scorer.acting import Acting

    if not yes:
        typer.confirm(f"Delete the account {handle} for good?", abort=True)
    with _database(data) as (session, _):
        personal_data.delete_account(Acting(session, None, datetime.now(UTC)), find_account(session, handle).id)
    return Answer({"handle": handle}, f"The account {handle} is deleted.")


@answers(app)
def create(handle: str, name: str = "", data: Data = None) -> Answer:
    """Make a participant's account and print its first token.

    Works directly in the database: DATABASE_URL, or --data.

    No API token may make accounts.
    """
    from scorer.accounts import accounts

    now = datetime.now(UTC)
    with _database(data) as (session, _):
        made = accounts.create_account(session, handle=handle, name=name, role="participant", now=now)
        return _new_token(session, made, now)


@answers(app)
def set_role(handle: str, role: str, data: Data = None) -> Answer:
    """Give an account another role: participant, organizer or admin.

    Works directly in the database: DATABASE_URL, or --data.

    An admin's API token may not do this: a leaked one could make admins. Admins do it on the page /admin/accounts.
    """
    from scorer.accounts import accounts
    from scorer.acting import Acting

    with _database(data) as (session, _):
        changed = accounts.change_role(Acting(session, None, datetime.now(UTC)), handle, role)
        return Answer({"handle": changed.handle, "role": changed.role}, f"{changed.handle} is {changed.role} now.")
