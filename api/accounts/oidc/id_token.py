"""ID tokens: their signature, their validity, and the identity in them."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from joserfc import jws, jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import Key, KeySet

from scorer.accounts.accounts import is_email
from scorer.accounts.oidc_identities import TENANT, OidcIdentity

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Only asymmetric signatures: no ``none`` and no HMAC with a shared secret."""
LEEWAY = 300
"""Seconds by which the issuer's clock may differ from ours."""
TENANT_ID = re.compile(r"[0-9a-fA-F-]{36}")


class SignedClaims(NamedTuple):
    claims: dict[str, Any]
    key: Key


def signed_claims(token: str, keys: KeySet) -> SignedClaims:
    """The claims of a token signed with one of the ``keys``, or with the key that it names. ``JoseError`` if no key
    matches."""
    key_id = jws.extract_compact(token.encode()).headers().get("kid")
    failure: JoseError = InvalidKeyIdError(f"the issuer publishes no key {key_id!r}")
    for key in keys:
        if key_id in (None, key.kid) and key.get("use", "sig") == "sig":
            try:
                return SignedClaims(jwt.decode(token, key, algorithms=ALGORITHMS).claims, key)
            except JoseError as error:
                failure = error
    raise failure


def require_valid(signed: SignedClaims, issuer: str, client_id: str, *, nonce: str, now: int) -> None:
    """``JoseError`` or ``ValueError`` if a token belongs to another issuer, login or client, or has expired.
    ``issuer`` comes from the discovery document."""
    claims = signed.claims
    expected = _fill_in_tenant(issuer, claims)
    key_issuer = signed.key.get("issuer")
    if isinstance(key_issuer, str) and _fill_in_tenant(key_issuer, claims) != expected:
        raise ValueError(f"the key is for tokens of {key_issuer}")
    try:
        jwt.JWTClaimsRegistry(
            now=now,
            leeway=LEEWAY,
            iss={"essential": True, "value": expected},
            aud={"essential": True, "value": client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
            azp={"value": client_id},
        ).validate(claims)
    except JoseError as error:
        named = {name: claims.get(name) for name in ("iss", "aud", "iat", "exp")}
        raise ValueError(f"{error} (token: {named}; expected issuer: {expected}; current time: {now})") from error


def _fill_in_tenant(issuer: str, claims: Mapping[str, Any]) -> str:
    """The issuer, with the token's tenant in place of a placeholder."""
    if TENANT not in issuer:
        return issuer
    tenant = claims.get("tid")
    if not (isinstance(tenant, str) and TENANT_ID.fullmatch(tenant)):
        raise ValueError("the token has no tenant")
    return issuer.replace(TENANT, tenant)


def parse_identity(claims: Mapping[str, Any], issuer: str) -> OidcIdentity:
    """The identity in valid claims. The email address counts only with ``email_verified``, which some issuers send as
    text. It never counts for an ``issuer`` with many tenants: each tenant can write any address."""

    def claim(name: str) -> str:
        value = claims.get(name)
        return value if isinstance(value, str) else ""

    flag = claims.get("email_verified")
    verified = (flag is True or flag == "true") and TENANT not in issuer and is_email(claim("email"))
    return OidcIdentity(
        issuer=claims["iss"],
        subject=str(claims["sub"]),
        email=claim("email") if verified else None,
        name=claim("name"),
        handle=claim("preferred_username"),
    )
