"""Pages for signing up, in and out, password resets and address confirmation. All work without scripts."""

from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import Response

from api.accounts.sign_in.sign_in import AppSignInActions
from api.http import session_cookies
from api.http.dependencies import ActingSignedIn, AppSettings, CurrentViewer, SignedIn
from api.http.forms import FormFields, refusal_on, text
from api.http.local_paths import HOME, referring_path, remembered_path, safe_redirect_path
from api.http.routing import Router
from api.http.session_cookies import SessionCookies
from api.rendering.templates import render_page, see_other
from scorer.accounts import sessions
from scorer.accounts.sign_up import Application

router = Router(include_in_schema=False)
MAX_PASSWORD_LENGTH = 1024
NO_LINK = {"link": ""}
"""The secret of a mailed link is in the fragment of the address: no server gets it before the form is sent."""


def after_sign_in(cookies: SessionCookies, onward: str) -> str:
    """The next page after signing in: the second step, or ``onward``."""
    return f"/signin/second-factor?next={quote(onward, safe='')}" if cookies.awaits_second_factor else onward


@router.api_route("/signup", methods=["GET", "HEAD"])
def sign_up_form(
    request: Request,
    viewer: CurrentViewer,
    settings: AppSettings,
    next: str | None = None,  # noqa: A002
) -> Response:
    if viewer is not None:
        return see_other("/account")
    onward = referring_path(request) if next is None else safe_redirect_path(next)
    return render_page(
        "accounts/sign_in/sign_up.html", **_sign_up_values(settings), given={"invitation": "", "next": onward}
    )


@router.post("/signup")
def sign_up(
    request: Request, fields: FormFields, actions: AppSignInActions, viewer: CurrentViewer, settings: AppSettings
) -> Response:
    values = {name: text(fields, name) for name in ("handle", "name", "email", "invitation", "next")}
    with refusal_on(
        render_page, "accounts/sign_in/sign_up.html", viewer=viewer, **_sign_up_values(settings), given=values
    ):
        account = actions.sign_up(_parse_application(values), text(fields, "password", max_length=MAX_PASSWORD_LENGTH))
    onward = safe_redirect_path(values["next"])
    response = see_other(onward)
    session_cookies.set_session_cookies(response, request, actions.open_session(account))
    if onward != HOME:
        session_cookies.set_next_cookie(response, request, onward)
    return response


def _parse_application(values: dict[str, str]) -> Application:
    return Application(
        handle=values["handle"].strip(),
        name=values["name"].strip(),
        email=values["email"],
        invitation=values["invitation"].strip(),
    )


def _sign_up_values(settings: AppSettings) -> dict[str, Any]:
    return {"by_invitation": settings.sign_up == "invitation", "oidc": _oidc(settings)}


def _oidc(settings: AppSettings) -> str | None:
    return settings.oidc_name if settings.oidc_issuer is not None else None


@router.api_route("/signin", methods=["GET", "HEAD"])
def sign_in_form(
    request: Request,
    viewer: CurrentViewer,
    settings: AppSettings,
    next: str | None = None,  # noqa: A002
) -> Response:
    onward = referring_path(request) if next is None else safe_redirect_path(next)
    if viewer is not None:
        return see_other(onward)
    return render_page("accounts/sign_in/show.html", given={"login": "", "next": onward}, oidc=_oidc(settings))


@router.post("/signin")
def sign_in(
    request: Request, fields: FormFields, actions: AppSignInActions, viewer: CurrentViewer, settings: AppSettings
) -> Response:
    values = {name: text(fields, name) for name in ("login", "next")}
    with refusal_on(render_page, "accounts/sign_in/show.html", viewer=viewer, given=values, oidc=_oidc(settings)):
        cookies = actions.sign_in(values["login"], text(fields, "password", max_length=MAX_PASSWORD_LENGTH))
    response = see_other(after_sign_in(cookies, safe_redirect_path(values["next"])))
    session_cookies.set_session_cookies(response, request, cookies)
    return response


@router.api_route("/signin/link", methods=["GET", "HEAD"])
def sign_in_link_form(viewer: CurrentViewer, next: str = HOME) -> Response:  # noqa: A002
    """Viewing the form does not use up the link."""
    return render_page(
        "accounts/sign_in/sign_in_link.html", viewer=viewer, given={**NO_LINK, "next": safe_redirect_path(next)}
    )


@router.post("/signin/link")
def sign_in_by_link(request: Request, fields: FormFields, actions: AppSignInActions, viewer: CurrentViewer) -> Response:
    values = {name: text(fields, name).strip() for name in ("link", "next")}
    with refusal_on(render_page, "accounts/sign_in/sign_in_link.html", viewer=viewer, given=values):
        cookies = actions.sign_in_by_link(values["link"])
    response = see_other(after_sign_in(cookies, safe_redirect_path(values["next"])))
    session_cookies.set_session_cookies(response, request, cookies)
    return response


@router.post("/signout")
def sign_out(request: Request, acting: ActingSignedIn, viewer: SignedIn) -> Response:
    sessions.end(acting, viewer.session_id or 0)
    response = see_other(HOME)
    session_cookies.delete_session_cookie(response, request)
    return response


@router.api_route("/reset", methods=["GET", "HEAD"])
def ask_reset_form(viewer: CurrentViewer) -> Response:
    return render_page("accounts/sign_in/forgotten_password.html", viewer=viewer, given={"email": ""})


@router.post("/reset")
def ask_reset(fields: FormFields, actions: AppSignInActions, viewer: CurrentViewer) -> Response:
    values = {"email": text(fields, "email")}
    with refusal_on(render_page, "accounts/sign_in/forgotten_password.html", viewer=viewer, given=values):
        actions.request_reset(values["email"])
    message = "If an account has this address, Kennel has sent an email to it. The link works for one hour."
    return render_page("rendering/message.html", viewer=viewer, title="Check your email", message=message, way=None)


@router.api_route("/new-password", methods=["GET", "HEAD"])
def reset_form(viewer: CurrentViewer) -> Response:
    """Viewing the form does not use up the link."""
    return render_page("accounts/sign_in/new_password.html", viewer=viewer, given=NO_LINK)


@router.post("/new-password")
def reset(fields: FormFields, actions: AppSignInActions, viewer: CurrentViewer) -> Response:
    values = {"link": text(fields, "link").strip()}
    with refusal_on(render_page, "accounts/sign_in/new_password.html", viewer=viewer, given=values):
        actions.reset(values["link"], text(fields, "password", max_length=MAX_PASSWORD_LENGTH))
    message = "Your new password is set. All earlier sessions, tokens and webhooks of your account have ended."
    return render_page("rendering/message.html", title="Password changed", message=message, way=("/signin", "Sign in"))


@router.api_route("/confirm", methods=["GET", "HEAD"])
def confirm_form(viewer: CurrentViewer) -> Response:
    """A form with a button, because mail scanners open links but don't submit forms."""
    return render_page("accounts/sign_in/confirm_address.html", viewer=viewer, given=NO_LINK)


@router.post("/confirm")
def confirm(request: Request, fields: FormFields, actions: AppSignInActions, viewer: CurrentViewer) -> Response:
    values = {"link": text(fields, "link").strip()}
    with refusal_on(render_page, "accounts/sign_in/confirm_address.html", viewer=viewer, given=values):
        account = actions.confirm(values["link"])
    message = f"{account.email} is now the email address of {account.handle}."
    onward = remembered_path(request)
    way = (onward, "Continue") if onward else (HOME, "All competitions")
    response = render_page("rendering/message.html", viewer=viewer, title="Address confirmed", message=message, way=way)
    session_cookies.delete_cookie(response, request, session_cookies.NEXT_COOKIE)
    return response
