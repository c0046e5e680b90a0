"""Sessions: signing in and out with a password, and listing and ending your sessions."""

from fastapi import Request, Response

from api.accounts.sign_in.sign_in import AppSignInActions
from api.accounts.views import OpenSessionPage, OpenSessionView, SessionView, SignIn
from api.http import csrf, session_cookies
from api.http.dependencies import ActingReader, ActingSignedIn, SignedIn
from api.http.paging import Paging
from api.http.routing import ApiRouter
from scorer.accounts import sessions
from scorer.db import accounts

router = ApiRouter(tags=["sessions"])


@router.post("/session", status_code=201)
def sign_in(body: SignIn, request: Request, response: Response, actions: AppSignInActions) -> SessionView:
    """Sign in with a password. The session is a cookie (HttpOnly, SameSite=Lax). Every request except GET also needs
    the CSRF token."""
    cookies = actions.sign_in(body.login, body.password.get_secret_value())
    session_cookies.set_session_cookies(response, request, cookies)
    response.headers["Cache-Control"] = "no-store"
    return SessionView(csrf_token=csrf.csrf_token(cookies.session), second_factor=cookies.awaits_second_factor)


@router.delete("/session", status_code=204)
def sign_out(request: Request, response: Response, acting: ActingSignedIn, viewer: SignedIn) -> None:
    """Sign out. This ends the current session."""
    sessions.end(acting, viewer.session_id or 0)
    session_cookies.delete_session_cookie(response, request)


@router.get("/sessions")
def index(acting: ActingReader, wanted: Paging) -> OpenSessionPage:
    """List your open sessions, most recently used first."""
    page = wanted.slice_all(accounts.load_sessions(acting.session, acting.actor.id, acting.now))
    views = [OpenSessionView.model_validate(row) for row in page.rows]
    return OpenSessionPage(sessions=views, next_after=page.next_after)


@router.delete("/sessions/{session_id}", status_code=204)
def end(session_id: int, acting: ActingSignedIn) -> None:
    """End one of your sessions."""
    sessions.end(acting, session_id)
