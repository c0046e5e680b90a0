"""Schemas of second factors."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.accounts.views import PasswordProof
from api.http.views import RecordView, Request
from scorer.accounts.passkeys import MAX_CREDENTIAL_LENGTH


class SecondFactorProof(Request):
    """A one-time code, a recovery code or a passkey's response."""

    code: str = Field("", max_length=40, description="The code from your authenticator app, or a recovery code.")
    passkey: str | None = Field(
        None, max_length=MAX_CREDENTIAL_LENGTH, description="The browser's `PublicKeyCredential` as JSON text."
    )


class NewTotp(PasswordProof):
    """A key for one-time codes (TOTP: SHA-1, 6 digits, 30 s), and the current code."""

    key: str = Field(max_length=64, description="The key in base32.")
    code: str = Field(max_length=10)


class TotpKeyView(BaseModel):
    """A key for one-time codes."""

    key: str = Field(description="The key in base32.")
    address: str = Field(description="An `otpauth://` address that authenticator apps open.")


class NewPasskey(Request):
    """A passkey that the browser created."""

    name: str = Field("", max_length=100, examples=["laptop"])
    credential: str = Field(
        max_length=MAX_CREDENTIAL_LENGTH, description="The browser's `PublicKeyCredential` as JSON text."
    )


class SecondFactorView(RecordView):
    """A second factor: `totp` or `passkey`."""

    id: int
    kind: str
    name: str
    created_at: datetime
    last_used_at: datetime | None


class SecondFactorsView(BaseModel):
    """Your second factors."""

    factors: list[SecondFactorView]
    recovery_codes: int = Field(description="The number of unused recovery codes.")
    required: bool = Field(description="Whether your role requires a second factor on this service.")


class RecoveryCodesView(BaseModel):
    """Recovery codes. They are shown only once, and each code works once."""

    codes: list[str]
