"""Pages of second factors: the second step of signing in, and setting codes, passkeys and recovery codes up."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from api.actions.second_factors import AppSecondFactorActions
from api.actions.sign_in import AppSignInActions
from api.http import session_cookies
from api.http.dependencies import AppSettings, Caller, DbSession, Now, SignedIn
from api.http.forms import FormFields, text
from api.http.problem_details import status_of
from api.pages.accounts.sign_in import HOME, MAX_PASSWORD_LENGTH, form_with_error, safe_redirect_path
from api.rendering.templates import render_page, see_other
from scorer.accounts import second_factors
from scorer.errors import KennelError

router = APIRouter(include_in_schema=False)
HERE = "/account/second-factor"
RowId = Annotated[int, Path(ge=1, le=2**62)]
DONE_MESSAGES = {
    "totp": "From now on you are asked for a code. Make recovery codes for the day on which you have lost your phone.",
    "passkey": "From now on you may use this passkey. Make recovery codes for the day on which you have lost it.",
    "removed": "It is removed.",
}


@router.api_route("/signin/second-factor", methods=["GET", "HEAD"])
def second_step_form(actions: AppSecondFactorActions, next: str = HOME) -> Response:  # noqa: A002
    """The form for a code or a passkey."""
    return render_page("accounts/second_step.html", kinds=actions.kinds(), next=next)


@router.post("/signin/second-factor")
def finish_sign_in(request: Request, fields: FormFields, actions: AppSecondFactorActions) -> Response:
    """Open the session that has waited for a code."""
    onward = text(fields, "next")
    try:
        cookies = actions.finish_with_code(text(fields, "code"))
    except KennelError as error:
        return form_with_error("accounts/second_step.html", error, None, kinds=actions.kinds(), next=onward)
    response = see_other(safe_redirect_path(onward))
    session_cookies.set_session_cookies(response, request, cookies)
    return response


@router.api_route(HERE, methods=["GET", "HEAD"])
def show_second_factors(
    session: DbSession, viewer: SignedIn, settings: AppSettings, now: Now, done: str = ""
) -> Response:
    """One's second factors."""
    return _page(session, viewer, settings, now, done=DONE_MESSAGES.get(done))


def _page(
    session: DbSession,
    viewer: Caller,
    settings: AppSettings,
    now: Now,
    *,
    status: int = 200,
    key: str | None = None,
    **outcome: Any,
) -> Response:
    """The page with the outcome of what was just done. It shows a new key or codes, so it is not cached."""
    key = key or second_factors.new_totp_key()
    return render_page(
        "accounts/second_factors.html",
        status=status,
        headers={"Cache-Control": "no-store"},
        viewer=viewer,
        factors=second_factors.list_factors(session, viewer.account),
        recovery_codes=second_factors.count_recovery_codes(session, viewer.account),
        required=second_factors.is_required(viewer.account, settings.require_second_factor),
        key=key,
        key_address=second_factors.totp_address(key, viewer.account),
        now=now,
        **{"codes": None, **outcome},
    )


@router.post(f"{HERE}/totp")
def add_totp(
    fields: FormFields,
    session: DbSession,
    viewer: SignedIn,
    settings: AppSettings,
    actions: AppSignInActions,
    now: Now,
) -> Response:
    """Set one-time codes up."""
    key = text(fields, "key", max_length=64)
    try:
        actions.require_password(viewer, text(fields, "password", max_length=MAX_PASSWORD_LENGTH))
        second_factors.add_totp(session, viewer.account, key, text(fields, "code").replace(" ", ""), now=now)
    except KennelError as error:
        status = status_of(error)
        shown = key if second_factors.is_totp_key(key) else None
        return _page(session, viewer, settings, now, status=status, key=shown, error=error.message, place="totp")
    return see_other(f"{HERE}?done=totp")


@router.post(f"{HERE}/recovery-codes")
def make_recovery_codes(
    fields: FormFields,
    session: DbSession,
    viewer: SignedIn,
    settings: AppSettings,
    actions: AppSignInActions,
    now: Now,
) -> Response:
    """Make recovery codes; only this response shows them."""
    try:
        actions.require_password(viewer, text(fields, "password", max_length=MAX_PASSWORD_LENGTH))
        codes = second_factors.new_recovery_codes(session, viewer.account, now=now)
    except KennelError as error:
        return _page(session, viewer, settings, now, status=status_of(error), error=error.message, place="recovery")
    return _page(session, viewer, settings, now, status=201, codes=codes)


@router.post(f"{HERE}/{{factor_id}}/remove")
def remove_second_factor(
    factor_id: RowId,
    fields: FormFields,
    session: DbSession,
    viewer: SignedIn,
    settings: AppSettings,
    actions: AppSignInActions,
    now: Now,
) -> Response:
    """Remove a second factor."""
    try:
        actions.require_password(viewer, text(fields, "password", max_length=MAX_PASSWORD_LENGTH))
        second_factors.remove(session, viewer.account, factor_id, now=now)
    except KennelError as error:
        return _page(session, viewer, settings, now, status=status_of(error), error=error.message, place="factors")
    return see_other(f"{HERE}?done=removed")
