"""Schemas of accounts, sessions, API tokens, one-time links and accepted rules."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from api.http.views import Page, RecordView, Request
from scorer.accounts.accounts import HANDLE_PATTERN, MAX_EMAIL_LENGTH
from scorer.accounts.api_tokens import MAX_TOKENS, Scope
from scorer.accounts.password_hashing import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from scorer.db.accounts import AccountSummary

Role = Literal["participant", "organizer", "admin"]
MAX_LINK_LENGTH = 100


class NewAccount(Request):
    handle: str = Field(pattern=HANDLE_PATTERN.pattern, examples=["ada"])
    name: str = Field("", max_length=100)
    role: Role = "participant"


class NewRole(Request):
    role: Role


class AccountView(RecordView):
    handle: str
    name: str
    role: str
    created_at: datetime


class AccountPage(Page):
    """Accounts, oldest first."""

    accounts: list[AccountSummary]


class SuspensionWish(Request):
    """Whether to suspend an account or lift its suspension."""

    suspended: bool = True
    reason: str = Field("", max_length=1000, description="The reason, for the audit log.")


class NewAccountView(AccountView):
    token: str = Field(description="Shown only once; Kennel stores only its hash.")


PASSWORD_RULE = f"{MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters, and not easy to guess."


class NewPassword(Request):
    """A new password."""

    password: SecretStr = Field(description=PASSWORD_RULE, max_length=4 * MAX_PASSWORD_LENGTH)


class SignUp(NewPassword):
    """An application for an account."""

    handle: str = Field(max_length=80, examples=["ada"], description="A unique short name for signing in.")
    name: str = Field("", max_length=100, description="The name that others see; by default the handle.")
    email: str = Field(max_length=MAX_EMAIL_LENGTH, examples=["ada@example.org"], description="Never shown to others.")
    invitation: str = Field(
        "", max_length=MAX_LINK_LENGTH, description="The secret of an invitation link: the part after `#`."
    )


class PasswordReset(NewPassword):
    """A new password for the account of a mailed link."""

    link: str = Field(max_length=MAX_LINK_LENGTH, description="The secret of the link: the part after `#`.")


class EmailConfirmation(Request):
    """The confirmation of an email address with the link that was sent to it."""

    link: str = Field(max_length=MAX_LINK_LENGTH, description="The secret of the link: the part after `#`.")


class SignIn(Request):
    """A login and its password."""

    login: str = Field(max_length=MAX_EMAIL_LENGTH, description="Handle or email address.")
    password: SecretStr = Field(max_length=4 * MAX_PASSWORD_LENGTH)


class PasswordChange(Request):
    """The old password and the new one."""

    old: SecretStr = Field(
        SecretStr(""), max_length=4 * MAX_PASSWORD_LENGTH, description="The current password; empty if there is none."
    )
    new: SecretStr = Field(description=PASSWORD_RULE, max_length=4 * MAX_PASSWORD_LENGTH)
    keep_tokens: list[int] = Field(
        [], max_length=MAX_TOKENS, description="The IDs of the API tokens to keep. All others are revoked."
    )
    keep_webhooks: list[int] = Field(
        [], max_length=100, description="The IDs of the webhooks to keep. All others are removed."
    )


class PasswordProof(Request):
    """The current password, so that nobody else at your browser can do this."""

    password: SecretStr = Field(
        SecretStr(""), max_length=4 * MAX_PASSWORD_LENGTH, description="The current password; empty if there is none."
    )


class EmailChange(PasswordProof):
    """A new email address."""

    email: str = Field(max_length=MAX_EMAIL_LENGTH)


class AccountDeletion(PasswordProof):
    """The confirmation to delete your account."""

    handle: str = Field(max_length=80, description="The account's handle, as a confirmation.")


class EmailRequest(Request):
    """An email address."""

    email: str = Field(max_length=MAX_EMAIL_LENGTH)


class NewInvitation(Request):
    """An invitation to sign up."""

    email: str | None = Field(None, max_length=MAX_EMAIL_LENGTH, description="The email address to send the link to.")


class InvitationView(BaseModel):
    """An invitation. The link is shown only once."""

    link: str


class MeView(AccountView):
    """Your account, including the fields that nobody else sees."""

    email: str | None = Field(description="Null until you open the link that was sent to the address.")
    scopes: list[str] = Field(description="The scopes of this token or session.")


class SessionView(BaseModel):
    """A new session. Its secret is in the cookie."""

    csrf_token: str = Field(
        description="Send it as `X-CSRF-Token` with every request except GET, together with the cookie."
    )
    second_factor: bool = Field(
        description="Whether sign-in needs a second factor. If so, `POST /session/second-factor` within 10 minutes."
    )


class OpenSessionView(RecordView):
    """One of your open sessions."""

    id: int
    address: str
    agent: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime


class OpenSessionPage(Page):
    sessions: list[OpenSessionView]


class NewToken(Request):
    """A request for an API token."""

    name: str = Field(min_length=1, max_length=100, examples=["laptop"])
    scopes: set[Scope] = Field({"read", "submit"}, min_length=1)


class TokenView(RecordView):
    """An API token, without its secret."""

    id: int
    name: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime | None


class TokenPage(Page):
    tokens: list[TokenView]


class NewTokenView(TokenView):
    """A new API token."""

    token: str = Field(description="Shown only once; Kennel stores only its hash.")
