"""OpenID Connect: the authorization code flow with PKCE, and the identity from a validated ID token."""

import asyncio
import base64
import json
import logging
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
from joserfc.errors import JoseError
from pydantic import TypeAdapter

from api.accounts.oidc import id_token
from api.accounts.oidc.id_token import SignedClaims
from api.accounts.oidc.issuer_metadata import IssuerMetadata, bound_answer
from scorer.accounts.oidc_identities import TENANT, OidcIdentity
from scorer.errors import Unauthenticated, Unavailable
from scorer.settings import Settings

log = logging.getLogger(__name__)
SCOPE = "openid email profile"
ANSWER_SECONDS = 10.0
"""How long a login waits for the issuer in total, including the wait for another login that reads the same document."""
FAULTS = (HTTPError, TimeoutError, ValueError, KeyError, TypeError, AttributeError)
"""What missing and malformed responses raise."""


@dataclass(frozen=True)
class OidcLogin:
    """The state of a login in a cookie while the browser is at the issuer. ``onward`` is the path to go to
    afterwards."""

    state: str
    nonce: str
    verifier: str
    onward: str

    @classmethod
    def begin(cls, onward: str) -> "OidcLogin":
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, onward)

    def to_cookie(self) -> str:
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()

    @classmethod
    def from_cookie(cls, cookie: str) -> "OidcLogin":
        """The login from a value of ``to_cookie``; ``Unauthenticated`` for anything else."""
        try:
            return TypeAdapter(cls).validate_json(base64.urlsafe_b64decode(cookie), strict=True)
        except ValueError:
            raise _refused("the sign-in cookie is missing or invalid. Start again") from None


def _refused(shown: str, reason: object = "") -> Unauthenticated:
    """The refusal of a sign-in; ``shown`` is for the person, ``reason`` for the log."""
    log.warning("OpenID Connect sign-in refused: %s", reason or shown)
    return Unauthenticated("oidc", f"Sign-in failed: {shown}.")


@cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates. Loading them takes longer than the rest of a login."""
    return create_ssl_context()


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, (KeyError, TypeError)) else str(error) or repr(error)


class Issuer:
    """The issuer in the settings. Waiting for it blocks no thread."""

    def __init__(self, settings: Settings, metadata: IssuerMetadata, redirect_uri: str) -> None:
        if settings.oidc_issuer is None:
            raise Unavailable("no-oidc", "Sign-in with OpenID Connect is not set up on this service.")
        self._issuer, self._client_id, self._name = settings.oidc_issuer, settings.oidc_client_id, settings.oidc_name
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
        """The issuer's address for the redirect; ``Unavailable`` if the issuer does not respond."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._client:
                endpoint = (await self._discovery())["authorization_endpoint"]
        except FAULTS as error:
            raise self._away(error) from error
        url, _ = self._client.create_authorization_url(
            endpoint, state=login.state, nonce=login.nonce, code_verifier=login.verifier
        )
        return str(url)

    def _away(self, error: Exception) -> Unavailable:
        reason = (
            f"no response within {ANSWER_SECONDS:g} s" if isinstance(error, TimeoutError) else _describe_error(error)
        )
        log.warning("the OpenID Connect issuer %s cannot be used: %s", self._issuer, reason)
        return Unavailable(
            "oidc-away",
            f"You can't sign in with {self._name} at the moment, because it sent no valid response. Try again in a few "
            "minutes. The service's log has the reason.",
        )

    async def finish_login(self, login: OidcLogin, query: Mapping[str, str], now: datetime) -> OidcIdentity:
        """The identity for the ``query`` of the redirect back from the issuer.

        Raises ``Unauthenticated`` if the ID token is missing, forged, expired or for another login or client, and
        ``Unavailable`` if the issuer does not respond.
        """
        if "error" in query:
            error = f"{query['error'][:100]!r} {query.get('error_description', '')[:200]!r}"
            raise _refused(f"{self._name} reports {query['error'][:100]}", f"{self._issuer} reports {error}")
        if not secrets.compare_digest(query.get("state", "").encode(), login.state.encode()):
            raise _refused("you started another sign-in in this browser. Start again")
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._client:
                return await self._exchange_code(login, query, now)
        except (TimeoutError, HTTPError) as error:
            raise self._away(error) from error
        except (AuthlibBaseError, JoseError, *FAULTS) as error:
            raise _refused(
                f"{self._name} sent an invalid response. Try again. If this happens again, contact the organizers. The "
                "service's log has the reason",
                f"{self._issuer}: {_describe_error(error)}",
            ) from error

    async def _exchange_code(self, login: OidcLogin, query: Mapping[str, str], now: datetime) -> OidcIdentity:
        discovery = await self._discovery()
        named = discovery["issuer"]
        if TENANT not in named and query.get("iss", named) != named:
            raise ValueError(f"the browser brings the response of another issuer, {query['iss'][:200]!r}")
        answer = await self._client.fetch_token(
            discovery["token_endpoint"],
            grant_type="authorization_code",
            code=query["code"],
            code_verifier=login.verifier,
        )
        signed = await self._signed_claims(answer["id_token"], discovery["jwks_uri"])
        id_token.require_valid(signed, named, self._client_id, nonce=login.nonce, now=int(now.timestamp()))
        return id_token.parse_identity(signed.claims, named)

    async def _signed_claims(self, token: str, keys_address: str) -> SignedClaims:
        """The claims of a token signed with a key of the issuer. Reads the keys again if the key is not cached."""
        keys = await self._metadata.keys(self._client, keys_address)
        try:
            return id_token.signed_claims(token, keys)
        except JoseError:
            newer = await self._metadata.keys(self._client, keys_address, other_than=keys)
            return id_token.signed_claims(token, newer)

    async def _discovery(self) -> dict[str, Any]:
        return await self._metadata.discovery(self._client, self._issuer)
