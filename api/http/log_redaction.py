"""Redacts secrets in logged addresses: those of query parameters, such as the code of an OpenID Connect issuer."""

import re
from collections.abc import MutableMapping
from typing import Any

SECRET_PARAMETER = re.compile(
    r"(?P<before>[?&](?:invitation|code|state|token|secret|signature)=)[^/?&\s]+", re.IGNORECASE
)
REDACTED = "***"


def redact(address: str) -> str:
    """A path with its query, each secret in it replaced by ``***``."""
    return SECRET_PARAMETER.sub(rf"\g<before>{REDACTED}", address)


def has_secret_address(scope: MutableMapping[str, Any]) -> bool:
    """Whether the address of an ASGI request holds a secret: spans, which record addresses, leave such requests out."""
    address = f"{scope['path']}?{scope.get('query_string', b'').decode('latin-1')}"
    return redact(address) != address
