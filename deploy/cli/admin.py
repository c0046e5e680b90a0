"""``kennel admin account``: commands for operators that manage accounts directly in the database."""

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from deploy.cli.operator_access import Data, operator_acting
from kennel_client.cli.admin.accounts import Handle
from kennel_client.cli.output import Answer, answers

if TYPE_CHECKING:
    from scorer.acting import Acting
    from scorer.db.tables import Account

app = typer.Typer()


@answers(app)
def create_admin(handle: Handle, data: Data = None) -> Answer:
    """Create an admin account, or a new token for an existing one.

    The command works directly on the database, which DATABASE_URL or --data specifies.
    """
    from scorer.accounts import accounts, roles
    from scorer.db.accounts import account_by_handle

    with operator_acting(data) as acting:
        account = account_by_handle(acting.session, handle)
        if account is None:
            account = accounts.create_account(acting.session, handle=handle, name="", role="admin", now=acting.now)
        return _new_token(acting, roles.require_role(account))


@answers(app)
def token(handle: Handle, data: Data = None) -> Answer:
    """Print a new API token for an account, with all scopes that its role allows.

    The command works directly on the database, which DATABASE_URL or --data specifies.
    """
    from scorer.accounts.accounts import find_account

    with operator_acting(data) as acting:
        return _new_token(acting, find_account(acting.session, handle))


def _new_token(acting: "Acting[None]", account: "Account") -> Answer:
    from scorer import audit_log
    from scorer.accounts import api_tokens

    secret = secrets.token_urlsafe(32)
    api_tokens.issue(acting.session, account, secret, name="made by the operator", now=acting.now)
    audit_log.record_action(acting, "token.made", f"account:{account.handle}", after={"by": "the operator"})
    return Answer({"handle": account.handle, "token": secret}, secret)


@answers(app)
def reset_link(handle: Handle, data: Data = None) -> Answer:
    """Print a link for setting a new password. The link works for one hour.

    The command works directly on the database, which DATABASE_URL or --data specifies.
    """
    from deploy.standalone.data_folder import load_settings
    from scorer import audit_log
    from scorer.accounts import password_resets
    from scorer.accounts.accounts import find_account

    secret, site = secrets.token_urlsafe(32), load_settings(data).public_url
    with operator_acting(data) as acting:
        account = find_account(acting.session, handle)
        link = password_resets.link_for(acting.session, account, secret=secret, site=site, now=acting.now)
        audit_log.record_action(acting, "reset-link.made", f"account:{account.handle}", after={"by": "the operator"})
    return Answer({"handle": handle, "link": link}, link)


@answers(app)
def remove_second_factor(handle: Handle, data: Data = None) -> Answer:
    """Remove the second factor and recovery codes of somebody who has lost them.

    The command works directly on the database, which DATABASE_URL or --data specifies.
    """
    from scorer.accounts import second_factors
    from scorer.accounts.accounts import find_account

    with operator_acting(data) as acting:
        second_factors.remove_all(acting, find_account(acting.session, handle))
    return Answer({"handle": handle}, f"{handle} can sign in with the password alone.")


@answers(app, "delete")
def delete_account(
    handle: Handle,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    data: Data = None,
) -> Answer:
    """Permanently delete the account of somebody who asks for it and cannot sign in.

    The command works directly on the database, which DATABASE_URL or --data specifies.

    Submissions remain under a pseudonym. People who can sign in delete their account on the page /account, or with
    `kennel delete-account`.
    """
    from scorer import personal_data
    from scorer.accounts.accounts import find_account

    if not yes:
        typer.confirm(f"Delete the account {handle} permanently?", abort=True)
    with operator_acting(data) as acting:
        personal_data.delete_account(acting, find_account(acting.session, handle).id)
    return Answer({"handle": handle}, f"Account {handle} deleted.")


@answers(app)
def create(
    handle: Handle, name: Annotated[str, typer.Option(help="The name to display.")] = "", data: Data = None
) -> Answer:
    """Create a participant's account and print its first token.

    The command works directly on the database, which DATABASE_URL or --data specifies.

    It needs the database because API tokens cannot create accounts.
    """
    from scorer.accounts import accounts

    with operator_acting(data) as acting:
        made = accounts.create_account(acting.session, handle=handle, name=name, role="participant", now=acting.now)
        return _new_token(acting, made)


@answers(app)
def set_role(
    handle: Handle,
    role: Annotated[str, typer.Argument(help="The new role: participant, organizer or admin.")],
    data: Data = None,
) -> Answer:
    """Set an account's role: participant, organizer or admin.

    The command works directly on the database, which DATABASE_URL or --data specifies.

    Admins can also do this on the page /admin/accounts. API tokens cannot, because a leaked token could then create
    admins.
    """
    from scorer.accounts import accounts

    with operator_acting(data) as acting:
        changed = accounts.change_role(acting, handle, role)
        return Answer({"handle": changed.handle, "role": changed.role}, f"{changed.handle} is now {changed.role}.")
