"""Types of settings: addresses and lists as an operator writes them."""

import re
from email.utils import parseaddr
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from platformdirs import user_cache_path
from psycopg2.extensions import make_dsn
from pydantic import AfterValidator, BeforeValidator, SecretStr, StringConstraints
from pydantic.fields import FieldInfo
from sqlalchemy import make_url

from scorer.errors import Unavailable

DRIVER = "postgresql+psycopg2"
HOST = re.compile(r"/[^@?#]*|[\w.:,%-]*")
"""A name, an address, several of them, or the folder of a socket: with anything else in it, it is part of a password
that was cut at the wrong character."""
STORE = re.compile(r"file:///.*|s3://[\w.-]+(/[^@?#]*)?")
"""A folder, or a bucket and the beginning of its keys."""
REDIS_OPTIONS = {"ssl_cert_reqs", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"}
CERT_REQS = {"CERT_REQUIRED": "required", "CERT_OPTIONAL": "optional", "CERT_NONE": "none"}
"""Celery's own words for how a certificate is checked, and those that the other clients also take."""
UNREADABLE = (
    "the address, or an option in it, cannot be read. Percent-encode the special characters of its password, or set "
    "the password by itself in {}"
)


def _psycopg2(url: object) -> object:
    """The URL with the psycopg2 driver: SQLAlchemy 2.1 takes ``postgresql://`` for psycopg 3."""
    if isinstance(url, str):
        for scheme in ("postgresql://", "postgres://"):
            if url.startswith(scheme):
                return f"{DRIVER}://" + url.removeprefix(scheme)
    return url


def _readable_database(secret: SecretStr) -> SecretStr:
    """The same address; a ``ValueError`` without a piece of it if it is none, or names another schema."""
    try:
        url = make_url(secret.get_secret_value())
        driver = url.set(drivername=DRIVER)
        parameters = make_dsn(**driver.get_dialect()().create_connect_args(driver)[1])  # as connections are made
    except Exception:  # noqa: BLE001 - whatever it is, it may have a piece of the password in it
        url, parameters = make_url("none://none"), ""
    known = url.drivername in {"postgresql", DRIVER} and "\0" not in parameters and HOST.fullmatch(url.host or "")
    if not known or "@" in (url.database or "") or "/" in (url.database or ""):
        raise ValueError(UNREADABLE.format("DATABASE_PASSWORD or DATABASE_OWNER_PASSWORD"))
    if "search_path" in str(url.query.get("options", "")):
        raise ValueError("the tables are in the schema public. Take search_path out of the address's options")
    return secret


def _readable_redis(secret: SecretStr) -> SecretStr:
    """The address as all clients read it: with ``rediss://`` certificates are checked unless it says otherwise. A
    ``ValueError`` without a piece of it if it is none."""
    try:
        parts = urlsplit(secret.get_secret_value())
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        known = parts.scheme in {"redis", "rediss"} and HOST.fullmatch(parts.hostname or "") and parts.port != 0
    except ValueError:
        known = False
    if not known or not re.fullmatch(r"/?[0-9]*", parts.path) or parts.fragment or options.keys() - REDIS_OPTIONS:
        raise ValueError(f"{UNREADABLE.format('REDIS_PASSWORD')}. It begins with redis:// or rediss://")
    if parts.scheme == "rediss":
        checked = options.get("ssl_cert_reqs", "required")
        options["ssl_cert_reqs"] = CERT_REQS.get(checked, checked)
        if options["ssl_cert_reqs"] not in CERT_REQS.values():
            raise ValueError("ssl_cert_reqs is required, optional or none")
    return SecretStr(urlunsplit(parts._replace(query=urlencode(options, safe="/"))))


def _readable_smtp(secret: SecretStr) -> SecretStr:
    """The same address; a ``ValueError`` without a piece of it if it is none."""
    try:
        parts = urlsplit(secret.get_secret_value())
        known = parts.scheme in {"smtp", "smtps"} and HOST.fullmatch(parts.hostname or "") and parts.port != 0
        known = known and unquote(parts.netloc).isascii()
    except ValueError:
        known = False
    if not known or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(
            "the address cannot be read. It is smtp://host:port or smtps://user:password@host, all in ASCII; "
            "percent-encode the special characters of its password"
        )
    return secret


def _ascii_sender(sender: str) -> str:
    address = parseaddr(sender)[1]
    if "@" not in address or not address.isascii() or not sender.isprintable():
        raise ValueError(
            "it needs an address of ASCII characters, such as Kennel <kennel@example.org>; write other domains as xn--"
        )
    return sender


def _readable_store(address: str) -> str:
    """The same address; a ``ValueError`` without a piece of it if it is none: there may be a key in it."""
    if not STORE.fullmatch(address):
        raise ValueError(
            "it is file:///folder or s3://bucket/prefix. The key of an S3 store is in AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY"
        )
    return address


def is_secret(field: FieldInfo) -> bool:
    """Whether a setting is a secret, so that ``<VARIABLE>_FILE`` may name a file with its value."""
    return _has_secret(field.annotation)


def _has_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_has_secret, get_args(annotation)))


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


def _without_path(url: str) -> str:
    if urlsplit(url).path:
        raise ValueError("it has a path: give Kennel a host name of its own, since it does not run below a path")
    return url


HttpAddress = Annotated[
    str, BeforeValidator(_without_slash), StringConstraints(pattern=r"^https?://[^\s/?#]+[^\s?#]*$")
]
HostAddress = Annotated[HttpAddress, AfterValidator(_without_path)]
HttpsAddress = Annotated[HttpAddress, AfterValidator(_with_tls)]
"""An address that is spoken to by TLS, unless it is one of this machine."""
SocketAddress = Annotated[str, StringConstraints(pattern=r"^(/\S+|[^\s/:]+:[0-9]+|\[[0-9a-fA-F:]+\]:[0-9]+)$")]
"""The path of a Unix socket, or ``host:port``."""
DatabaseUrl = Annotated[SecretStr, BeforeValidator(_psycopg2), AfterValidator(_readable_database)]
BlobUrl = Annotated[str, AfterValidator(_readable_store)]
SmtpUrl = Annotated[SecretStr, AfterValidator(_readable_smtp)]
MailSender = Annotated[str, AfterValidator(_ascii_sender)]
RedisUrl = Annotated[SecretStr, AfterValidator(_readable_redis)]


def default_scratch() -> Path:
    """The cache folder of this account. ``Unavailable`` if it has no home."""
    try:
        return user_cache_path("kennel") / "scratch"
    except RuntimeError:
        raise Unavailable(
            "settings", "This account has no home directory: set KENNEL_SCRATCH to a folder that it may write to."
        ) from None
