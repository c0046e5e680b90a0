"""Pages of second factors: the second step of signing in, and setting up codes, passkeys and recovery codes."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import Response

from api.accounts.second_factors.second_step import AppSecondFactorActions
from api.accounts.sign_in.pages import MAX_PASSWORD_LENGTH
from api.accounts.sign_in.sign_in import AppSignInActions
from api.http import session_cookies
from api.http.dependencies import AppSettings, DbSession, Now, RowId, SignedIn
from api.http.forms import Fields, FormFields, refusal_on, text
from api.http.local_paths import HOME, remembered_path, safe_redirect_path
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.accounts import second_factors
from scorer.acting import Acting
from scorer.db.tables import WebSession

router = Router(include_in_schema=False)
HERE = "/account/second-factor"
DONE_MESSAGES = {
    "totp": "One-time codes set up. Sign-in now asks for a code. Create recovery codes in case you lose your phone.",
    "passkey": "Passkey added. You can now use it as your second factor. Create recovery codes in case you lose it.",
    "removed": "Second factor removed.",
}


@router.api_route("/signin/second-factor", methods=["GET", "HEAD"])
def second_step_form(actions: AppSecondFactorActions, next: str = HOME) -> Response:  # noqa: A002
    return _second_step(actions, next=next)


def _second_step(actions: AppSecondFactorActions, **values: Any) -> Response:
    return render_page("accounts/second_factors/second_step.html", kinds=actions.kinds(), **values)


@router.post("/signin/second-factor")
def finish_sign_in(request: Request, fields: FormFields, actions: AppSecondFactorActions) -> Response:
    onward = text(fields, "next")
    with refusal_on(_second_step, actions, next=onward):
        cookies = actions.finish_with_code(text(fields, "code"))
    response = see_other(safe_redirect_path(onward))
    session_cookies.set_session_cookies(response, request, cookies)
    return response


@dataclass(frozen=True)
class SecondFactorsPage:
    """The page of your second factors, which every action shows again."""

    session: DbSession
    viewer: SignedIn
    settings: AppSettings
    actions: AppSignInActions
    now: Now

    @property
    def acting(self) -> Acting:
        return Acting(self.session, self.viewer.account, self.now)

    def require_password(self, fields: Fields) -> None:
        """``Forbidden`` without the account's password."""
        self.actions.require_password(self.viewer, text(fields, "password", max_length=MAX_PASSWORD_LENGTH))

    @property
    def web_session(self) -> WebSession:
        return self.session.get_one(WebSession, self.viewer.session_id)

    def render(self, *, key: str | None = None, **outcome: Any) -> Response:
        """The page with the outcome of an action. It shows a new key or codes, so it is not cached."""
        key = key or second_factors.new_totp_key(self.web_session)
        session, account = self.session, self.viewer.account
        return render_page(
            "accounts/second_factors/show.html",
            headers={"Cache-Control": "no-store"},
            viewer=self.viewer,
            factors=second_factors.list_factors(session, account),
            recovery_codes=second_factors.count_recovery_codes(session, account),
            required=second_factors.is_required(account, self.settings.require_second_factor),
            key=key,
            key_address=second_factors.totp_address(key, account),
            now=self.now,
            **{"codes": None, "waiting": "", **outcome},
        )


OwnPage = Annotated[SecondFactorsPage, Depends()]


@router.api_route(HERE, methods=["GET", "HEAD"])
def show_second_factors(request: Request, page: OwnPage, done: str = "", next: str = "") -> Response:  # noqa: A002
    """``next`` is the page to continue with after setting up a second factor."""
    response = page.render(done=DONE_MESSAGES.get(done), waiting=remembered_path(request) if done else "")
    if next:
        session_cookies.set_next_cookie(response, request, next)
    return response


@router.post(f"{HERE}/totp")
def add_totp(fields: FormFields, page: OwnPage) -> Response:
    key = text(fields, "key", max_length=64)
    with refusal_on(lambda **refused: page.render(key=page.web_session.totp_key, **refused), place="totp"):
        page.require_password(fields)
        code = text(fields, "code").replace(" ", "")
        second_factors.add_totp(page.session, page.web_session, key, code=code, now=page.now)
    return see_other(f"{HERE}?done=totp")


@router.post(f"{HERE}/recovery-codes")
def make_recovery_codes(fields: FormFields, page: OwnPage) -> Response:
    with refusal_on(page.render, place="recovery"):
        page.require_password(fields)
        codes = second_factors.new_recovery_codes(page.acting)
    return page.render(status=201, codes=codes)


@router.post(f"{HERE}/{{factor_id}}/remove")
def remove_second_factor(factor_id: RowId, fields: FormFields, page: OwnPage) -> Response:
    with refusal_on(page.render, place="factors"):
        page.require_password(fields)
        second_factors.remove(page.acting, factor_id)
    return see_other(f"{HERE}?done=removed")
