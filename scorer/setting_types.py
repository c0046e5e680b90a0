"""Types of settings: addresses and lists as an operator writes them."""

from typing import Annotated
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import BeforeValidator, SecretStr, StringConstraints


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


HttpAddress = Annotated[
    str, BeforeValidator(_without_slash), StringConstraints(pattern=r"^https?://[^\s/?#]+[^\s?#]*$")
]
SocketAddress = Annotated[str, StringConstraints(pattern=r"^(/\S+|[^\s/:]+:[0-9]+|\[[0-9a-fA-F:]+\]:[0-9]+)$")]
"""The path of a Unix socket, or ``host:port``."""
DatabaseUrl = Annotated[SecretStr, BeforeValidator(_psycopg2)]
