"""Settings: read once from the environment, typed and passed as arguments. No other module reads the environment."""

import logging
import os
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from email.utils import parseaddr
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeVar, get_args
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from platformdirs import user_cache_path
from psycopg2.extensions import make_dsn
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict
from sqlalchemy import make_url

from scorer.errors import Unavailable

DRIVER = "postgresql+psycopg2"
HOST = re.compile(r"/[^@?#]*|[\w.:,%-]*")
"""Host names, addresses, or the folder of a socket. Any other character means that an unescaped password was cut in
the wrong place."""
STORE = re.compile(r"file:///.*|s3://[\w.-]+(/[^@?#]*)?")
"""A folder, or a bucket with a key prefix."""
REDIS_OPTIONS = {"ssl_cert_reqs", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"}
CERT_REQS = {"CERT_REQUIRED": "required", "CERT_OPTIONAL": "optional", "CERT_NONE": "none"}
"""Celery's names for certificate checks, with the names that other clients also accept."""
UNREADABLE = (
    "the address, or one of its options, is invalid. Percent-encode the special characters in the password, or set "
    "the password in {} instead"
)


def _psycopg2(url: object) -> object:
    """Return the URL with the psycopg2 driver: SQLAlchemy 2.1 uses psycopg 3 for ``postgresql://``."""
    if isinstance(url, str):
        for scheme in ("postgresql://", "postgres://"):
            if url.startswith(scheme):
                return f"{DRIVER}://" + url.removeprefix(scheme)
    return url


def _readable_database(secret: SecretStr) -> SecretStr:
    """Check the address. The ``ValueError`` never quotes it, because it may contain a password."""
    try:
        url = make_url(secret.get_secret_value())
        driver = url.set(drivername=DRIVER)
        parameters = make_dsn(**driver.get_dialect()().create_connect_args(driver)[1])  # parsed as for a connection
    except Exception:  # noqa: BLE001 - any error may quote a part of the password
        url, parameters = make_url("none://none"), ""
    known = url.drivername in {"postgresql", DRIVER} and "\0" not in parameters and HOST.fullmatch(url.host or "")
    if not known or "@" in (url.database or "") or "/" in (url.database or ""):
        raise ValueError(UNREADABLE.format("DATABASE_PASSWORD or DATABASE_OWNER_PASSWORD"))
    if "search_path" in str(url.query.get("options", "")):
        raise ValueError("the tables are in the schema public. Remove search_path from the options in the address")
    return secret


def _readable_redis(secret: SecretStr) -> SecretStr:
    """Check the address and write it so that all clients read it alike: ``rediss://`` checks certificates by default.

    The ``ValueError`` never quotes the address.
    """
    try:
        parts = urlsplit(secret.get_secret_value())
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        known = parts.scheme in {"redis", "rediss"} and HOST.fullmatch(parts.hostname or "") and parts.port != 0
    except ValueError:
        known = False
    if not known or not re.fullmatch(r"/?[0-9]*", parts.path) or parts.fragment or options.keys() - REDIS_OPTIONS:
        raise ValueError(f"{UNREADABLE.format('REDIS_PASSWORD')}. The address must begin with redis:// or rediss://")
    if parts.scheme == "rediss":
        checked = options.get("ssl_cert_reqs", "required")
        options["ssl_cert_reqs"] = CERT_REQS.get(checked, checked)
        if options["ssl_cert_reqs"] not in CERT_REQS.values():
            raise ValueError("ssl_cert_reqs must be required, optional or none")
    return SecretStr(urlunsplit(parts._replace(query=urlencode(options, safe="/"))))


def _readable_smtp(secret: SecretStr) -> SecretStr:
    """Check the address. The ``ValueError`` never quotes it."""
    try:
        parts = urlsplit(secret.get_secret_value())
        known = parts.scheme in {"smtp", "smtps"} and HOST.fullmatch(parts.hostname or "") and parts.port != 0
        known = known and unquote(parts.netloc).isascii()
    except ValueError:
        known = False
    if not known or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(
            "the address is invalid. Write smtp://host:port or smtps://user:password@host in ASCII, and percent-encode "
            "the special characters in the password"
        )
    return secret


def _ascii_sender(sender: str) -> str:
    address = parseaddr(sender)[1]
    if "@" not in address or not address.isascii() or not sender.isprintable():
        raise ValueError(
            "the address must be ASCII, for example Kennel <kennel@example.org>. Write other domains in their xn-- form"
        )
    return sender


def _readable_store(address: str) -> str:
    """Check the address. The ``ValueError`` never quotes it, because it may contain a key."""
    if not STORE.fullmatch(address):
        raise ValueError(
            "the address must be file:///folder or s3://bucket/prefix. Set the key of an S3 store in AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY"
        )
    return address


def is_secret(field: FieldInfo) -> bool:
    """Whether a setting is a secret. Only for secrets, ``<VARIABLE>_FILE`` may name a file with the value."""
    return _has_secret(field.annotation)


def _has_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_has_secret, get_args(annotation)))


def with_password(url: str, password: str) -> str:
    """Return the URL with the password, percent-encoded; unchanged if it already has one."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name, _, given = user.partition(":")
    return url if given else urlunsplit(parts._replace(netloc=f"{name}:{quote(password, safe='')}@{host}"))


def _without_slash(url: object) -> object:
    return url.rstrip("/") if isinstance(url, str) else url


def split_commas(text: object) -> object:
    return [part.strip() for part in text.split(",")] if isinstance(text, str) else text


def is_https_or_loopback(url: str) -> bool:
    """Whether requests to the URL are safe from eavesdropping: over HTTPS, or within this machine."""
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
        raise ValueError("the address must begin with https:// unless its host is this machine")
    return url


def _without_path(url: str) -> str:
    if urlsplit(url).path:
        raise ValueError("the address must not have a path. Kennel needs its own host name; it can't run below a path")
    return url


HttpAddress = Annotated[
    str, BeforeValidator(_without_slash), StringConstraints(pattern=r"^https?://[^\s/?#]+[^\s?#]*$")
]
HostAddress = Annotated[HttpAddress, AfterValidator(_without_path)]
HttpsAddress = Annotated[HttpAddress, AfterValidator(_with_tls)]
"""An address that needs TLS unless it is on this machine."""
SocketAddress = Annotated[str, StringConstraints(pattern=r"^(/\S+|[^\s/:]+:[0-9]+|\[[0-9a-fA-F:]+\]:[0-9]+)$")]
"""The path of a Unix socket, or ``host:port``."""
DatabaseUrl = Annotated[SecretStr, BeforeValidator(_psycopg2), AfterValidator(_readable_database)]
BlobUrl = Annotated[str, AfterValidator(_readable_store)]
SmtpUrl = Annotated[SecretStr, AfterValidator(_readable_smtp)]
MailSender = Annotated[str, AfterValidator(_ascii_sender)]
RedisUrl = Annotated[SecretStr, AfterValidator(_readable_redis)]


def default_scratch() -> Path:
    """Return the cache folder of this account. ``Unavailable`` if the account has no home directory."""
    try:
        return user_cache_path("kennel") / "scratch"
    except RuntimeError:
        raise Unavailable(
            "settings", "This account has no home directory. Set KENNEL_SCRATCH to a folder that it can write to."
        ) from None


FILE_SUFFIX = "_FILE"
PASSWORDS = {
    "database_url": "database_password",
    "database_owner_url": "database_owner_password",
    "redis_url": "redis_password",
}
"""The password field of each URL field."""

S = TypeVar("S", bound=BaseSettings)


class SecretFiles(PydanticBaseSettingsSource):
    """Secrets from files, as container engines and systemd provide them: ``<VARIABLE>_FILE`` names the file.

    A newline at the end is removed. An empty file means no secret.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[str | None, str, bool]:
        """Return the secret, its field, and False for "not JSON". ``Unavailable`` if the file can't be read."""
        path = os.environ.get(find_variable(field_name) + FILE_SUFFIX) if is_secret(field) else None
        if not path:
            return None, field_name, False
        try:
            return Path(path).read_text().removesuffix("\n") or None, field_name, False
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable(
                "settings", f"{find_variable(field_name)}{FILE_SUFFIX} cannot be read: {error}."
            ) from None

    def __call__(self) -> dict[str, Any]:
        secrets = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in secrets.items() if value is not None}


class LogSettings(BaseSettings):
    """The log settings. Commands that need no other settings also read them."""

    model_config = SettingsConfigDict(
        env_prefix="KENNEL_",
        env_ignore_empty=True,
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level of logged messages. Commands default to ``WARNING``."""
    log_format: Literal["auto", "json", "text"] = "auto"
    """The log format: one JSON object per line, or text for people. ``auto`` uses text on terminals and in
    commands."""


class Settings(LogSettings):
    """The operator's settings. Every field is an environment variable ``KENNEL_<NAME>``, except addresses with
    conventional names such as ``DATABASE_URL``.

    An empty variable counts as not set. A secret can be in a file instead, named by ``<VARIABLE>_FILE``.
    """

    database_url: DatabaseUrl = Field(validation_alias="DATABASE_URL")
    """The PostgreSQL database, with the role that the service runs as. This role can't change tables or rewrite
    history. The tables are in the schema ``public``. ``?sslmode=verify-full&sslrootcert=system`` checks the server's
    certificate; libpq's rules apply."""
    database_owner_url: DatabaseUrl | None = Field(default=None, validation_alias="DATABASE_OWNER_URL")
    """The PostgreSQL database, with the role that owns the tables. Only migrations use it. Default:
    ``DATABASE_URL``."""
    database_password: SecretStr | None = Field(default=None, validation_alias="DATABASE_PASSWORD")
    """The password for ``DATABASE_URL`` if the URL has none. Don't escape any characters."""
    database_owner_password: SecretStr | None = Field(default=None, validation_alias="DATABASE_OWNER_PASSWORD")
    """The password for ``DATABASE_OWNER_URL`` if the URL has none."""
    redis_url: RedisUrl = Field(validation_alias="REDIS_URL")
    """The Redis or Valkey server for messages to workers and for rate limits, for example ``redis://host:6379/0``.
    ``rediss://`` uses TLS and checks the certificate against the system's CAs. ``?ssl_ca_certs=/path/ca.pem`` sets
    another CA, ``ssl_certfile`` and ``ssl_keyfile`` set a client certificate, and ``ssl_cert_reqs=none`` turns the
    check off."""
    redis_password: SecretStr | None = Field(default=None, validation_alias="REDIS_PASSWORD")
    """The password for ``REDIS_URL`` if the URL has none."""
    blob_url: BlobUrl = Field(validation_alias="BLOB_URL")
    """The store for zips and other files: ``file:///folder`` or ``s3://bucket/prefix``."""
    s3_secret_key: SecretStr | None = Field(default=None, validation_alias="AWS_SECRET_ACCESS_KEY")
    """The secret key for an S3 store. [S3](#s3) lists the variables for the key's name and the store's address."""

    draw_key: SecretStr | None = None
    """The key that encrypts the secrets of draws in competitions of generators: a long random text. Keep a copy outside
    the database. Without it, nobody can create such a competition, and no worker can draw."""
    min_free_bytes: int = Field(500_000_000, ge=0)
    """Free bytes required on the disk that receives uploads. Below this, or with too few free inodes in proportion,
    Kennel refuses uploads."""
    scratch: Path = Field(default_factory=default_scratch)
    """The folder for temporary files. Workers use it for decoded images and copies of reference features, web
    processes for parts of uploads on their way to S3. You can delete its contents at any time."""
    max_scratch_bytes: int = 20_000_000_000
    """The most bytes of decoded images in ``KENNEL_SCRATCH``. The least recently used images are removed first."""
    weights_dir: Path | None = None
    """The folder with weights that no package includes (``docs/how-to/weights.md``)."""
    weights_sha256: dict[str, str] = {}
    """The required SHA-256 hashes (hex) of these weights, by extractor name. For other weights, the first load records
    the hash next to the file."""
    device: Annotated[str, StringConstraints(pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$")] = "auto"
    """The device that extractors run on: ``cpu``, ``cuda`` for the first GPU, ``cuda:3`` for the fourth, or ``auto``
    for the first GPU if there is one. A worker uses one GPU, and its processes take turns on it: start one worker per
    GPU."""
    batch_size: int | None = Field(default=None, ge=1)
    """Images per batch. Default: 8 on a CPU, and on a GPU the largest batch that safely fits. Kennel halves it when
    memory runs out."""
    decoding_processes: int | None = Field(None, ge=0)
    """Processes that decode an entry's images, without access to files or the network and with little memory. Default:
    one per core, up to 4. 0 decodes in the worker itself, which is what systems other than Linux always do."""
    recovery: dict[str, int | str | tuple[float, float, float, float]] = {}
    """Values by name that replace defaults of latent recovery, and so control how thorough a generator audit is. For
    example, ``{"train": 400, "held_out": 400}``. ``{"method": "authors", "starts": 10}`` selects the method of the
    paper's authors."""
    accept_weaker_sandbox: bool = False
    """Whether to run uploaded generators on systems without a required part of the sandbox: Landlock, the system call
    filter, or an unprivileged user. Without this setting, Kennel does not open generators there. See
    docs/explanation/sandbox.md for the risks."""

    max_upload_bytes: int = 2 * 1024**3
    """The largest zip accepted, for an entry or for reference images."""
    max_team_bytes: int | None = Field(100 * 1024**3, ge=1)
    """The most bytes that a team's zips, generators, code and uploads in progress may use in a competition."""
    max_competition_bytes: int | None = Field(None, ge=1)
    """The most bytes that all teams together may use in a competition. Uploads that have been announced
    but not yet received reserve at most a quarter of the free bytes in total. Default: no limit."""
    clamd: SocketAddress | None = None
    """The clamd (ClamAV) that scans uploads for malware: the path of its socket, or ``host:port``. Kennel refuses
    infected uploads. While clamd is unavailable, entries wait and other uploads fail with 503. Default: no scans."""
    generator_max_bytes: int = Field(256 * 1024**2, ge=1)
    """The largest ONNX file accepted as an entry's generator."""
    upload_life_seconds: int = Field(24 * 3600, ge=60, le=7 * 24 * 3600)
    """Seconds without progress after which Kennel removes an upload."""
    kept_days: int = Field(30, ge=1)
    """Days to keep ended sessions, used links, sent mails, webhook calls, uploads and rejected zips."""
    kept_zip_days: int | None = Field(None, ge=1)
    """Days after the final publication until Kennel removes the zips that no decision depends on. Default: keep all
    zips."""
    s3_public_endpoint: HttpAddress | None = None
    """The S3 endpoint that participants can reach. With ``AWS_SECRET_ACCESS_KEY``, programs can upload directly to
    it."""
    web_processes: int = Field(1, ge=1)
    """Web processes of the whole installation. ``kennel up``, the compose file and the units start this many."""
    web_connections: int = Field(30, ge=2)
    """The most database connections that a web process opens. Four of them are reserved for boards."""
    worker_processes: int = Field(2, ge=0)
    """Worker processes of the whole installation: the sum of all values of Celery's ``--concurrency``."""
    worker_connections: int = Field(5, ge=2)
    """The most database connections that a worker process opens."""
    workers_from_zero: bool = False
    """Whether it is normal that no workers are running while no jobs are waiting, as with KEDA on Kubernetes.
    Workers that check entries must always run."""
    database_pooler: bool = False
    """Whether ``DATABASE_URL`` is the address of a pooler: PgBouncer in transaction mode. Without a pooler, all
    processes together must not open more connections than the server has."""
    readiness_seconds: float = Field(2.0, gt=0, le=60)
    """Seconds to wait for a dependency's answer in ``/readyz``."""
    lease_seconds: int = 30
    """Seconds without renewal after which a worker's lease expires and another worker can take its job."""
    sweep_seconds: int = 15
    """Seconds between sweeps. A sweep frees expired leases and sends lost messages again."""
    max_attempts: int = 3
    """Attempts after which a job fails."""
    max_job_seconds: int = 6 * 3600
    """Seconds after which Kennel ends a job's process."""
    max_stall_seconds: int = 600
    """Seconds without progress after which a worker stops renewing a job's lease. Another worker then takes the
    job."""
    retry_factor: float = Field(1.0, gt=0)
    """A factor for all delays after failures, for example before a job is retried. Set it below 1 to rehearse
    outages."""

    traces_endpoint: HttpAddress | None = None
    """The OpenTelemetry collector for traces (OTLP over HTTP), for example ``http://collector:4318``. Needs the extra
    ``traces``."""

    public_url: HostAddress = "http://127.0.0.1:8000"
    """The public address of this service, without a path. With ``https://``, cookies are only sent over HTTPS."""
    sign_up: Literal["open", "invitation"] = "open"
    """Who may create an account: everybody, or only people invited by an organizer."""
    require_confirmed_address: bool = False
    """Whether an account needs a confirmed email address to submit entries. Benchmark entries don't need one."""
    require_second_factor: Literal["nobody", "admins", "organizers", "everybody"] = "nobody"
    """Roles that must set up a second factor before they can use the service, including with API tokens.
    ``organizers`` includes admins."""
    smtp_url: SmtpUrl | None = None
    """The mail server: ``smtps://user:password@host``, or ``smtp://host:25`` in a trusted network. Without TLS, links
    in mails travel unencrypted. Without this setting, mails stay in the outbox; use ``kennel admin account
    reset-link``."""
    mail_from: MailSender = "Kennel <kennel@localhost>"
    """The sender of mails."""
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(split_commas)] = ()
    """Addresses and networks of the proxies in front of the web processes, separated by commas. Kennel takes the
    visitor's address and protocol from the headers ``X-Forwarded-For`` and ``X-Forwarded-Proto`` of these proxies.
    Default: none; the connection's own address counts as the visitor's."""
    webhooks_local: bool = False
    """Whether webhooks may use plain HTTP and private addresses. Everybody with an account can add a webhook. Only turn
    this on if they may all reach every address that workers can reach."""
    rates: dict[str, str] = {}
    """Rate limits that differ from the defaults, by name, for example ``{"sign-in": "5/minute"}``."""

    oidc_issuer: HttpsAddress | None = None
    """An OpenID Connect issuer that people can sign in with, for example ``https://accounts.example.org``. It needs TLS
    unless it is on this machine. Kennel trusts it: anyone with a verified address there can sign in to the Kennel
    account with the same address."""
    oidc_client_id: str = ""
    """The client ID that the issuer has assigned to this service."""
    oidc_client_secret: SecretStr = SecretStr("")
    """The client secret that the issuer has assigned to this service."""
    oidc_name: str = "OpenID Connect"
    """The provider's name on the button ``Sign in with ...``."""

    metrics_token: SecretStr | None = None
    """The bearer token for ``/metrics``. Without it, web processes have no ``/metrics``, and a worker's metrics port
    responds to everybody."""
    metrics_port: int | None = Field(None, ge=1, le=65535)
    """A worker's port for ``/metrics``. It needs ``PROMETHEUS_MULTIPROC_DIR``, an empty folder. Default: no port."""
    liveness_path: Path | None = None
    """A file that a worker or Celery beat touches while it is working, for health checks. Use a different file
    for each."""

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature of pydantic-settings
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments take precedence over variables, and variables over files named by variables."""
        return init_settings, env_settings, SecretFiles(settings_cls)

    @model_validator(mode="before")
    @classmethod
    def _add_passwords(cls, values: dict[str, Any]) -> dict[str, Any]:
        added = dict(values)
        for url, password in PASSWORDS.items():
            secret = _find_secret(values, password)
            for key in (url, find_variable(url)):
                if secret and isinstance(added.get(key), str):
                    added[key] = with_password(added[key], secret)
        return added

    @model_validator(mode="after")
    def _require_companion_settings(self) -> "Settings":
        if self.smtp_url is not None and "public_url" not in self.model_fields_set:
            raise ValueError("KENNEL_SMTP_URL needs KENNEL_PUBLIC_URL for the links in mails")
        if self.oidc_issuer is not None and not self.oidc_client_id:
            raise ValueError("KENNEL_OIDC_ISSUER needs KENNEL_OIDC_CLIENT_ID")
        return self

    @property
    def migration_url(self) -> str:
        return (self.database_owner_url or self.database_url).get_secret_value()


def find_variable(name: str) -> str:
    return str(Settings.model_fields[name].validation_alias or f"KENNEL_{name.upper()}")


def _find_secret(values: Mapping[str, Any], name: str) -> str | None:
    """Return a secret from raw values, which are named by variable or by field."""
    value = values.get(find_variable(name), values.get(name))
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def read_settings(overrides: Mapping[str, str] = MappingProxyType({})) -> Settings:
    """Read the settings from the environment; ``overrides`` take precedence.

    ``Unavailable`` names missing and wrong settings.
    """
    variables = {name: find_variable(name) for name in Settings.model_fields}
    return _read(Settings, {name: overrides[variable] for name, variable in variables.items() if variable in overrides})


def read_log_settings() -> LogSettings:
    """Read the log settings from the environment; ``Unavailable`` names wrong settings."""
    return _read(LogSettings, {})


def _read(kind: type[S], values: Mapping[str, str]) -> S:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(map(_in_words, error.errors()))
        raise Unavailable("settings", f"Settings are missing or wrong: {wrong}.") from None


def _in_words(fault: ErrorDetails) -> str:
    names = [find_variable(str(name)) if name in Settings.model_fields else str(name) for name in fault["loc"][:1]]
    return ": ".join([*names, fault["msg"].removeprefix("Value error, ")])


log = logging.getLogger(__name__)

PREFIX: Final = "KENNEL_"
OF_CLIENTS: Final = ("KENNEL_URL", "KENNEL_TOKEN")
"""Variables of the client's commands."""
OF_DEPLOYMENTS: Final = ("KENNEL_MODE",)
"""Variables of docker-compose.yml."""


def warn_about_unknown_settings(environ: Iterable[str]) -> None:
    """Log a warning for each misspelt setting, which would otherwise be ignored silently."""
    for name, meant in unknown_settings(environ).items():
        log.warning("%s is not a setting.%s", name, f" Did you mean {meant}?" if meant else "")


def unknown_settings(environ: Iterable[str]) -> Mapping[str, str | None]:
    """Return the variables that start with ``KENNEL_`` but are not settings, each with the most similar setting."""
    known = {*OF_CLIENTS, *OF_DEPLOYMENTS, *map(find_variable, Settings.model_fields)}
    known |= {
        f"{find_variable(name)}{FILE_SUFFIX}" for name, field in Settings.model_fields.items() if is_secret(field)
    }
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return {name: next(iter(get_close_matches(name, known, 1)), None) for name in unknown}
