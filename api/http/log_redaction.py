"""Redacts secrets in logged addresses: one-time links, rating links, upload URLs and query parameters."""

import re
from collections.abc import MutableMapping
from typing import Any

SECRET_URL = re.compile(
    r"(?P<before>"
    r"/(?:reset|confirm|password-resets|email-confirmations|rate)/"  # links that authorise by themselves
    r"|/kaggle/uploads/[^/?\s]+/"  # secret URLs of wire uploads
    r"|[?&](?:invitation|code|state|token|secret|signature)="
    r")[^/?&\s]+",
    re.IGNORECASE,
)
REDACTED = "***"


def redact(address: str) -> str:
    """A path with its query, each secret in it replaced by ``***``."""
    return SECRET_URL.sub(rf"\g<before>{REDACTED}", address)


def has_secret_address(scope: MutableMapping[str, Any]) -> bool:
    """Whether the address of an ASGI request holds a secret: spans, which record addresses, leave such requests out."""
    address = f"{scope['path']}?{scope.get('query_string', b'').decode('latin-1')}"
    return redact(address) != address
