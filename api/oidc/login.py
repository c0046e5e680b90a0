"""OpenID Connect: the authorization code flow with PKCE, and the identity in a checked ID token."""

import asyncio
import base64
import json
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from httpx2 import HTTPError, create_ssl_context
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from pydantic import TypeAdapter

from api.oidc.issuer_metadata import IssuerMetadata, bound_answer
from scorer.accounts.accounts import is_email
from scorer.accounts.oidc_identities import OidcIdentity
from scorer.errors import Unauthenticated, Unavailable
from scorer.settings import Settings

SCOPE = "openid email profile"
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Asymmetric signatures only: neither ``none`` nor HMAC with a shared secret."""
ANSWER_SECONDS = 10.0
"""What a login waits for the issuer in all, and for another login that reads the same document."""
LEEWAY = 60
"""Seconds by which the issuer's clock may differ from ours."""


@dataclass(frozen=True)
class OidcLogin:
    """The state of a login, kept in a cookie while the browser is at the issuer: state, nonce, PKCE verifier, and the
    path to go to afterwards."""

    state: str
    nonce: str
    verifier: str
    onward: str

    @classmethod
    def begin(cls, onward: str) -> "OidcLogin":
        """A new login that leads to ``onward``."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, onward)

    def to_cookie(self) -> str:
        """The cookie's value: JSON in base64."""
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()

    @classmethod
    def from_cookie(cls, cookie: str) -> "OidcLogin":
        """The login that ``to_cookie`` has written; ``Unauthenticated`` for anything else."""
        try:
            return TypeAdapter(cls).validate_json(base64.urlsafe_b64decode(cookie), strict=True)
        except ValueError:
            raise _refused("the cookie of this sign-in is gone; please begin again") from None


def _refused(why: str) -> Unauthenticated:
    return Unauthenticated("oidc", f"Signing in did not work: {why}.")


@cache
def _ssl_context() -> ssl.SSLContext:
    """The certificates that this process trusts: to load them takes longer than all else of a login."""
    return create_ssl_context()


class Issuer:
    """The issuer of the settings. To wait for it takes no thread from other requests."""

    def __init__(self, settings: Settings, metadata: IssuerMetadata, redirect_uri: str) -> None:
        if settings.oidc_issuer is None:
            raise Unavailable("no-oidc", "Signing in with OpenID Connect is not set up here.")
        self._issuer, self._client_id = settings.oidc_issuer, settings.oidc_client_id
        self._metadata = metadata
        self._client = AsyncOAuth2Client(
            settings.oidc_client_id,
            settings.oidc_client_secret.get_secret_value() or None,
            scope=SCOPE,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            timeout=ANSWER_SECONDS,
            verify=_ssl_context(),
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [bound_answer]},
        )

    async def authorization_url(self, login: OidcLogin) -> str:
        """The address at the issuer to redirect the browser to; ``Unavailable`` if the issuer does not answer."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._client:
                endpoint = (await self._discovery())["authorization_endpoint"]
        except (HTTPError, TimeoutError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unavailable("oidc-away", "The service that you sign in with does not answer.") from error
        url, _ = self._client.create_authorization_url(
            endpoint, state=login.state, nonce=login.nonce, code_verifier=login.verifier
        )
        return str(url)

    async def finish_login(self, login: OidcLogin, query: Mapping[str, str], now: datetime) -> OidcIdentity:
        """The identity for the ``query`` of the redirect back from the issuer. ``Unauthenticated`` if the ID token is
        missing, forged, expired or meant for another login or client."""
        if "error" in query:
            raise _refused(f"{self._issuer} says {query['error'][:100]}")
        if not secrets.compare_digest(query.get("state", "").encode(), login.state.encode()):
            raise _refused("this is not the sign-in that this browser began")
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._client:
                return await self._exchange_code(login, query, now)
        except TimeoutError as error:
            raise Unavailable("oidc-away", "The service that you sign in with does not answer.") from error
        except (AuthlibBaseError, HTTPError, JoseError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _refused("the issuer's answer is not as it should be") from error

    async def _exchange_code(self, login: OidcLogin, query: Mapping[str, str], now: datetime) -> OidcIdentity:
        discovery = await self._discovery()
        if query.get("iss", discovery["issuer"]) != discovery["issuer"]:
            raise ValueError("another issuer's answer")
        answer = await self._client.fetch_token(
            discovery["token_endpoint"],
            grant_type="authorization_code",
            code=query["code"],
            code_verifier=login.verifier,
        )
        claims = await self._signed_claims(answer["id_token"], discovery["jwks_uri"])
        jwt.JWTClaimsRegistry(
            now=int(now.timestamp()),
            leeway=LEEWAY,
            iss={"essential": True, "value": discovery["issuer"]},
            aud={"essential": True, "value": self._client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": login.nonce},
            azp={"value": self._client_id},
        ).validate(claims)
        return _identity_of(claims)

    async def _signed_claims(self, token: str, keys_address: str) -> dict[str, Any]:
        """The claims of a token that one of the issuer's keys has signed, a new key too."""
        keys = await self._metadata.keys(self._client, keys_address)
        try:
            return jwt.decode(token, keys, algorithms=ALGORITHMS).claims
        except InvalidKeyIdError:
            newer = await self._metadata.keys(self._client, keys_address, other_than=keys)
            return jwt.decode(token, newer, algorithms=ALGORITHMS).claims

    async def _discovery(self) -> dict[str, Any]:
        return await self._metadata.discovery(self._client, self._issuer)


def _identity_of(claims: Mapping[str, Any]) -> OidcIdentity:
    def claim(name: str) -> str:
        value = claims.get(name)
        return value if isinstance(value, str) else ""

    verified = claims.get("email_verified") is True and is_email(claim("email"))
    return OidcIdentity(
        issuer=claims["iss"],
        subject=str(claims["sub"]),
        email=claim("email") if verified else None,
        name=claim("name"),
        handle=claim("preferred_username"),
    )
