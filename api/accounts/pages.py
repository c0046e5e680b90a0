"""Pages of your own account: address, API tokens, password, sessions."""

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from api.accounts.personal_data import delete_own_account, own_data
from api.accounts.sign_in.pages import MAX_PASSWORD_LENGTH
from api.accounts.sign_in.sign_in import AppSignInActions
from api.http import session_cookies
from api.http.dependencies import ActingSignedIn, RowId, SignedIn, Viewer
from api.http.forms import Fields, FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.accounts import api_tokens, sessions
from scorer.accounts.credentials import KeptCredentials
from scorer.acting import Acting
from scorer.db import accounts, notifications
from scorer.errors import Invalid
from scorer.identifiers import new_secret

router = Router(prefix="/account", include_in_schema=False)
MAX_NAME_LENGTH = 100


@router.api_route("", methods=["GET", "HEAD"])
def show_account(acting: ActingSignedIn, viewer: SignedIn, done: str = "") -> Response:
    return _page(acting, viewer, done=DONE_MESSAGES.get(done))


DONE_MESSAGES = {
    "password": "Password changed. Your other sessions, and tokens and webhooks that you did not keep, have ended.",
    "email": "Confirmation link sent. Open it to confirm the address.",
    "token": "Token revoked.",
    "session": "Session ended.",
}


def _page(acting: Acting, viewer: Viewer, *, secret: str | None = None, **outcome: Any) -> Response:
    """The account page with the outcome of an action. It may contain a new secret, so it is not cached."""
    return render_page(
        "accounts/show.html",
        headers={"Cache-Control": "no-store"},
        viewer=viewer,
        tokens=accounts.load_tokens(acting.session, acting.actor.id),
        scopes=api_tokens.list_scopes(acting.actor),
        webhooks=notifications.active_webhooks(acting.session, acting.actor.id),
        sessions=accounts.load_sessions(acting.session, acting.actor.id, acting.now),
        now=acting.now,
        secret=secret,
        **outcome,
    )


@router.post("/tokens")
def make_token(fields: FormFields, acting: ActingSignedIn, viewer: SignedIn) -> Response:
    sessions.hold(acting.session, viewer.session_id, acting.now)
    name = text(fields, "name", max_length=MAX_NAME_LENGTH).strip()
    secret = new_secret()
    with refusal_on(_page, acting, viewer, place="token"):
        if not name:
            raise Invalid("no-name", "Enter a name for the token.")
        api_tokens.issue_own(acting, secret, name=name, scopes=fields.getlist("scope"))
    return _page(acting, viewer, status=201, secret=secret)


@router.post("/tokens/{token_id}/revoke")
def revoke_token(token_id: RowId, acting: ActingSignedIn) -> Response:
    api_tokens.revoke(acting, token_id)
    return see_other("/account?done=token#tokens")


@router.post("/sessions/{session_id}/end")
def end_session(session_id: RowId, acting: ActingSignedIn, viewer: SignedIn) -> Response:
    sessions.end(acting, session_id)
    return see_other("/account?done=session#sessions" if session_id != viewer.session_id else "/")


@router.post("/password")
def change_password(
    fields: FormFields, acting: ActingSignedIn, sign_in: AppSignInActions, viewer: SignedIn
) -> Response:
    old, new = (text(fields, name, max_length=MAX_PASSWORD_LENGTH) for name in ("old", "new"))
    with refusal_on(_page, acting, viewer, place="password"):
        sign_in.change_password(viewer, old, new, keep=_parse_kept_credentials(fields))
    return see_other("/account?done=password#password")


def _parse_kept_credentials(fields: Fields) -> KeptCredentials:
    tokens, webhooks = (
        [int(value) for value in fields.getlist(name) if value.isascii() and value.isdecimal() and len(value) < 19]
        for name in ("keep_token", "keep_webhook")
    )
    return KeptCredentials(tokens=tokens, webhooks=webhooks)


@router.post("/email")
def change_email(fields: FormFields, acting: ActingSignedIn, sign_in: AppSignInActions, viewer: SignedIn) -> Response:
    with refusal_on(_page, acting, viewer, place="email"):
        password = text(fields, "password", max_length=MAX_PASSWORD_LENGTH)
        sign_in.request_confirmation(viewer, text(fields, "email"), password)
    return see_other("/account?done=email")


@router.api_route("/data", methods=["GET", "HEAD"])
def download_own_data(acting: ActingSignedIn) -> Response:
    return own_data(acting)


@router.post("/deletion")
def delete_account(
    request: Request, fields: FormFields, acting: ActingSignedIn, sign_in: AppSignInActions, viewer: SignedIn
) -> Response:
    with refusal_on(_page, acting, viewer, place="deletion"):
        password = text(fields, "password", max_length=MAX_PASSWORD_LENGTH)
        delete_own_account(sign_in, viewer, text(fields, "handle"), password=password)
    title, message = "Account deleted", "Your entries stay under a pseudonym, other records under your account's ID."
    answer = render_page("rendering/message.html", viewer=None, title=title, message=message, way=("/", "Competitions"))
    session_cookies.delete_cookies(answer, request)
    return answer
