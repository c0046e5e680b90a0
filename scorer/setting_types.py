"""Types of settings: addresses and lists as an operator writes them."""

from ipaddress import ip_address
from typing import Annotated
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr, StringConstraints


def _psycopg2(url: object) -> object:
    """The URL with the psycopg2 driver: SQLAlchemy 2.1 takes ``postgresql://`` for psycopg 3."""
    if isinstance(url, str):
        for scheme in ("postgresql://", "postgres://"):
            if url.startswith(scheme):
                return "postgresql+psycopg2://" + url.removeprefix(scheme)
    return url


def with_password(url: str, password: str) -> str:
    """The URL with the password, percent-encoded, if it has none."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name, _, given = user.partition(":")
    return url if given else urlunsplit(parts._replace(netloc=f"{name}:{quote(password, safe='')}@{host}"))


def _without_slash(url: object) -> object:
    return url.rstrip("/") if isinstance(url, str) else url


def parts_of(text: object) -> object:
    """The parts of a text that are separated by commas."""
    return [part.strip() for part in text.split(",")] if isinstance(text, str) else text


def is_https_or_loopback(url: str) -> bool:
    """Whether nobody on the way reads or changes what is sent there: by HTTPS, or not leaving the machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _with_tls(url: str) -> str:
    if not is_https_or_loopback(url):
        raise ValueError("it needs https://, unless its host is this machine")
    return url


HttpAddress = Annotated[
    str, BeforeValidator(_without_slash), StringConstraints(pattern=r"^https?://[^\s/?#]+[^\s?#]*$")
]
HttpsAddress = Annotated[HttpAddress, AfterValidator(_with_tls)]
"""An address that is spoken to by TLS, unless it is one of this machine."""
SocketAddress = Annotated[str, StringConstraints(pattern=r"^(/\S+|[^\s/:]+:[0-9]+|\[[0-9a-fA-F:]+\]:[0-9]+)$")]
"""The path of a Unix socket, or ``host:port``."""
DatabaseUrl = Annotated[SecretStr, BeforeValidator(_psycopg2)]
