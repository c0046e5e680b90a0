"""Presigned addresses for a body of one length. Those that obstore makes take a body of any length, so that whoever has
one could fill the store."""

import hashlib
import hmac
from functools import reduce
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

SIGNED_HEADERS = "content-length;host"
SCOPE_PARTS = 4
"""Date, region, service and the word that ends it, behind the name of the key."""


def with_signed_length(url: str, length: int, secret_key: str) -> str:
    """The presigned ``url`` for PUT, signed anew (AWS Signature Version 4) so that it takes a body of ``length`` bytes
    and no other."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, strict_parsing=True)) | {"X-Amz-SignedHeaders": SIGNED_HEADERS}
    del query["X-Amz-Signature"]
    fields = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(query.items()))
    headers = f"content-length:{length}\nhost:{parts.netloc}\n"
    request = "\n".join(("PUT", parts.path, fields, headers, SIGNED_HEADERS, "UNSIGNED-PAYLOAD"))
    scope = query["X-Amz-Credential"].split("/")[-SCOPE_PARTS:]
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", query["X-Amz-Date"], "/".join(scope), digest))
    signature = reduce(_hmac, (*scope, text), f"AWS4{secret_key}".encode()).hex()
    return urlunsplit(parts._replace(query=f"{fields}&X-Amz-Signature={signature}"))


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
