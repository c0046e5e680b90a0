"""Second factors: the second step of signing in, and setting up codes, passkeys and recovery codes."""

from typing import Any

from fastapi import Request, Response

from api.accounts.second_factors.second_step import AppSecondFactorActions
from api.accounts.second_factors.views import (
    NewPasskey,
    NewTotp,
    RecoveryCodesView,
    SecondFactorProof,
    SecondFactorsView,
    SecondFactorView,
    TotpKeyView,
)
from api.accounts.sign_in.sign_in import AppSignInActions
from api.accounts.views import PasswordProof, SessionView
from api.http import csrf, session_cookies
from api.http.dependencies import ActingSignedIn, AppSettings, DbSession, Now, RowId, SignedIn
from api.http.routing import ApiRouter
from scorer.accounts import passkeys, second_factors
from scorer.db.tables import WebSession

router = ApiRouter(tags=["second factors"])


@router.post("/session/passkey-options")
def passkey_options(actions: AppSecondFactorActions) -> dict[str, Any]:
    """Get the WebAuthn request options for signing in with a passkey as the second factor."""
    return actions.passkey_options()


@router.post("/session/second-factor", status_code=201)
def finish_sign_in(
    body: SecondFactorProof, request: Request, response: Response, actions: AppSecondFactorActions
) -> SessionView:
    """Finish signing in with a second factor: a one-time code, a recovery code or a passkey's response. Send it with
    the cookie of the first step."""
    cookies = (
        actions.finish_with_passkey(body.passkey) if body.passkey is not None else actions.finish_with_code(body.code)
    )
    session_cookies.set_session_cookies(response, request, cookies)
    response.headers["Cache-Control"] = "no-store"
    return SessionView(csrf_token=csrf.csrf_token(cookies.session), second_factor=False)


@router.get("/me/second-factors")
def list_second_factors(session: DbSession, viewer: SignedIn, settings: AppSettings) -> SecondFactorsView:
    """List your second factors, with the number of remaining recovery codes."""
    factors = second_factors.list_factors(session, viewer.account)
    return SecondFactorsView(
        factors=[SecondFactorView.model_validate(factor) for factor in factors],
        recovery_codes=second_factors.count_recovery_codes(session, viewer.account),
        required=second_factors.is_required(viewer.account, settings.require_second_factor),
    )


@router.post("/me/second-factors/totp-key")
def make_totp_key(session: DbSession, viewer: SignedIn, response: Response) -> TotpKeyView:
    """Create a key for an authenticator app. To set it up, confirm it with a code. It replaces any unconfirmed key of
    this session."""
    key = second_factors.new_totp_key(session.get_one(WebSession, viewer.session_id))
    response.headers["Cache-Control"] = "no-store"
    return TotpKeyView(key=key, address=second_factors.totp_address(key, viewer.account))


@router.post("/me/second-factors/totp", status_code=204)
def add_totp(body: NewTotp, session: DbSession, viewer: SignedIn, actions: AppSignInActions, now: Now) -> None:
    """Set up one-time codes with the newest key of this session and the current code of your authenticator app."""
    actions.require_password(viewer, body.password.get_secret_value())
    web_session = session.get_one(WebSession, viewer.session_id)
    second_factors.add_totp(session, web_session, body.key, code=body.code, now=now)


@router.post("/me/second-factors/passkey-options")
def new_passkey_options(
    body: PasswordProof, session: DbSession, viewer: SignedIn, actions: AppSignInActions, settings: AppSettings
) -> dict[str, Any]:
    """Get the WebAuthn creation options for a passkey."""
    actions.require_password(viewer, body.password.get_secret_value())
    web_session = session.get_one(WebSession, viewer.session_id)
    return passkeys.registration_options(session, web_session, passkeys.relying_party(settings.public_url))


@router.post("/me/second-factors/passkeys", status_code=204)
def add_passkey(body: NewPasskey, session: DbSession, viewer: SignedIn, settings: AppSettings, now: Now) -> None:
    """Add a passkey that your browser created from the creation options. Only the request for those options requires
    the password."""
    web_session = session.get_one(WebSession, viewer.session_id)
    party = passkeys.relying_party(settings.public_url)
    passkeys.register(session, web_session, body.credential, name=body.name.strip(), party=party, now=now)


@router.post("/me/second-factors/{factor_id}/removal", status_code=204)
def remove_second_factor(
    factor_id: RowId, body: PasswordProof, acting: ActingSignedIn, viewer: SignedIn, actions: AppSignInActions
) -> None:
    """Remove a second factor. Removing the last one also invalidates your recovery codes."""
    actions.require_password(viewer, body.password.get_secret_value())
    second_factors.remove(acting, factor_id)


@router.post("/me/recovery-codes", status_code=201)
def make_recovery_codes(
    body: PasswordProof, response: Response, acting: ActingSignedIn, viewer: SignedIn, actions: AppSignInActions
) -> RecoveryCodesView:
    """Create recovery codes, which replace all earlier ones. Only this response contains them."""
    actions.require_password(viewer, body.password.get_secret_value())
    response.headers["Cache-Control"] = "no-store"
    return RecoveryCodesView(codes=second_factors.new_recovery_codes(acting))
