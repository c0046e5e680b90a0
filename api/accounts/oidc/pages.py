"""Sign-in with an OpenID Connect issuer: the redirect to it, and its callback."""

from datetime import timedelta

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from api.accounts.oidc.login import Issuer, OidcLogin
from api.accounts.sign_in.pages import after_sign_in
from api.accounts.sign_in.sign_in import AppSignInActions
from api.http import session_cookies
from api.http.dependencies import AppSettings
from api.http.local_paths import HOME, safe_redirect_path
from api.http.routing import Router
from api.rendering.templates import see_other
from scorer.settings import Settings

router = Router(prefix="/signin/oidc", include_in_schema=False)
LOGIN_COOKIE = "kennel-oidc"
LOGIN_LIFETIME = timedelta(minutes=10)
"""The time limit for a login at the issuer."""


def _issuer(request: Request, settings: Settings) -> Issuer:
    return Issuer(settings, request.app.state.issuer_metadata, f"{settings.public_url}/signin/oidc/return")


@router.get("")
async def start_oidc_sign_in(
    request: Request,
    settings: AppSettings,
    sign_in: AppSignInActions,
    next: str = HOME,  # noqa: A002
) -> Response:
    await run_in_threadpool(sign_in.count_visit)
    login = OidcLogin.begin(safe_redirect_path(next))
    response = see_other(await _issuer(request, settings).authorization_url(login))
    session_cookies.set_cookie(response, request, LOGIN_COOKIE, value=login.to_cookie(), lifetime=LOGIN_LIFETIME)
    return response


@router.get("/return")
async def finish_oidc_sign_in(request: Request, settings: AppSettings, sign_in: AppSignInActions) -> Response:
    await run_in_threadpool(sign_in.count_visit)
    cookie = request.cookies.get(session_cookies.cookie_name(request, LOGIN_COOKIE), "")
    login = OidcLogin.from_cookie(cookie)
    person = await _issuer(request, settings).finish_login(login, request.query_params, sign_in.now)
    cookies = await run_in_threadpool(sign_in.sign_in_with_issuer, person)
    response = see_other(after_sign_in(cookies, safe_redirect_path(login.onward)))
    session_cookies.delete_cookie(response, request, LOGIN_COOKIE)
    session_cookies.set_session_cookies(response, request, cookies)
    return response
