"""Accounts: signing up, your own data, and the admins' routes that create accounts and change roles."""

from typing import Any

from fastapi import Request, Response

from api.accounts.personal_data import delete_own_account, own_data
from api.accounts.sign_in.sign_in import AppSignInActions
from api.accounts.views import (
    AccountDeletion,
    AccountView,
    EmailChange,
    EmailConfirmation,
    EmailRequest,
    InvitationView,
    MeView,
    NewAccount,
    NewAccountView,
    NewInvitation,
    NewRole,
    PasswordChange,
    PasswordReset,
    SignUp,
)
from api.http import session_cookies
from api.http.dependencies import (
    ActingAdmin,
    ActingCompetitionCreator,
    ActingReader,
    AppSettings,
    KnownViewer,
    SignedIn,
)
from api.http.routing import ApiRouter
from scorer import audit_log
from scorer.accounts import accounts, api_tokens
from scorer.accounts.credentials import KeptCredentials
from scorer.accounts.sign_up import Application, invite_account
from scorer.identifiers import new_secret

router = ApiRouter(tags=["accounts"])


@router.post("/accounts", status_code=201)
def sign_up(body: SignUp, actions: AppSignInActions) -> AccountView:
    """Sign up. To confirm your email address, open the link that Kennel sends to it."""
    wanted = Application(**body.model_dump(exclude={"password"}))
    return AccountView.model_validate(actions.sign_up(wanted, body.password.get_secret_value()))


@router.post("/admin/accounts", status_code=201)
def create(body: NewAccount, acting: ActingAdmin, viewer: SignedIn) -> NewAccountView:
    """Create an account with its first API token. Admins only. Requires a session."""
    account = accounts.create_account(acting.session, **body.model_dump(), now=acting.now)
    secret = new_secret()
    api_tokens.issue(acting.session, account, secret, name=f"made by {acting.actor.handle}", now=acting.now)
    audit_log.record_action(acting, "account.created", f"account:{account.handle}", after={"role": account.role})
    return NewAccountView.of(account, token=secret)


@router.put("/accounts/{handle}/role")
def change_role(handle: str, body: NewRole, acting: ActingAdmin, viewer: SignedIn) -> AccountView:
    """Change the role of an account. You can't demote the last admin. Admins only. Requires a session."""
    return AccountView.model_validate(accounts.change_role(acting, handle, body.role))


@router.post("/admin/invitations", status_code=201)
def invite(body: NewInvitation, acting: ActingCompetitionCreator, settings: AppSettings) -> InvitationView:
    """Create a sign-up link for one person, and mail it if you give an address. Organizers only."""
    site = settings.public_url
    return InvitationView(link=invite_account(acting, body.email, secret=new_secret(), site=site))


@router.get("/me")
def me(viewer: KnownViewer) -> MeView:
    """Get the account and the scopes of this token or session."""
    return MeView.of(viewer.account, scopes=list(viewer.scopes))


@router.get("/me/data", response_model=dict[str, list[dict[str, Any]]])
def download_own_data(acting: ActingReader) -> Response:
    """Download the data that Kennel stores about you, as rows by kind: account, sessions, tokens, notices, teams,
    submissions and other contributions. Secrets and measurements are not included."""
    return own_data(acting)


@router.post("/me/deletion", status_code=204)
def delete_account(
    body: AccountDeletion, request: Request, response: Response, actions: AppSignInActions, viewer: SignedIn
) -> None:
    """Delete your account permanently, with its name, address and credentials. Submissions stay under a pseudonym."""
    delete_own_account(actions, viewer, body.handle, password=body.password.get_secret_value())
    session_cookies.delete_cookies(response, request)


@router.put("/me/password", status_code=204)
def change_password(body: PasswordChange, actions: AppSignInActions, viewer: SignedIn) -> None:
    """Change your password. All your other sessions end, and so do the tokens and webhooks that you don't keep."""
    keep = KeptCredentials(tokens=body.keep_tokens, webhooks=body.keep_webhooks)
    actions.change_password(viewer, body.old.get_secret_value(), body.new.get_secret_value(), keep=keep)


@router.put("/me/email", status_code=202)
def change_email(body: EmailChange, actions: AppSignInActions, viewer: SignedIn) -> dict[str, str]:
    """Change your email address. Kennel mails a link to the new address, and the change takes effect when you open it.
    Your current address gets a notice."""
    actions.request_confirmation(viewer, body.email, body.password.get_secret_value())
    return {"title": "Link sent. Check your email."}


@router.post("/email-confirmations", status_code=204)
def confirm(body: EmailConfirmation, actions: AppSignInActions) -> None:
    """Confirm an email address with the link that was sent to it."""
    actions.confirm(body.link)


@router.post("/password-resets", status_code=202)
def ask_reset(body: EmailRequest, actions: AppSignInActions) -> dict[str, str]:
    """Request a password reset link by mail. The response is the same for unknown addresses."""
    actions.request_reset(body.email)
    return {"title": "If an account has this address, Kennel has sent an email to it."}


@router.post("/password-resets/completion", status_code=204)
def reset(body: PasswordReset, actions: AppSignInActions) -> None:
    """Set a new password with the link from the mail. All sessions, tokens and webhooks of the account end."""
    actions.reset(body.link, body.password.get_secret_value())
