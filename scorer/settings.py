"""Settings: typed, read once from the environment and passed in; no rule reads the environment itself. A variable that
looks like a setting and is none is reported: a misspelt one would change nothing, silently.
"""

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


FILE_SUFFIX = "_FILE"
PASSWORDS = {
    "database_url": "database_password",
    "database_owner_url": "database_owner_password",
    "redis_url": "redis_password",
}
"""By field with a URL: the field with its password."""

S = TypeVar("S", bound=BaseSettings)


class SecretFiles(PydanticBaseSettingsSource):
    """Secrets from files, as container engines and systemd hand them over: the file that ``<VARIABLE>_FILE`` names has
    the value, but for a newline at its end. An empty file is one without a secret."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[str | None, str, bool]:
        """The secret, its field, and that it is no JSON. ``Unavailable`` if the file cannot be read."""
        path = os.environ.get(variable_of(field_name) + FILE_SUFFIX) if is_secret(field) else None
        if not path:
            return None, field_name, False
        try:
            return Path(path).read_text().removesuffix("\n") or None, field_name, False
        except (OSError, UnicodeDecodeError) as error:
            raise Unavailable("settings", f"{variable_of(field_name)}{FILE_SUFFIX} cannot be read: {error}.") from None

    def __call__(self) -> dict[str, Any]:
        """The secrets of files, by field."""
        secrets = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in secrets.items() if value is not None}


class LogSettings(BaseSettings):
    """What every process needs to know before it logs, also commands that need no other settings."""

    model_config = SettingsConfigDict(
        env_prefix="KENNEL_",
        env_ignore_empty=True,
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level of messages that are logged; the default of commands is ``WARNING``."""
    log_format: Literal["auto", "json", "text"] = "auto"
    """How messages are logged: a JSON object a line, or text for people (``auto``: on terminals and in commands)."""


class Settings(LogSettings):
    """The operator's settings. Every field is an environment variable ``KENNEL_<NAME>``, except the addresses with
    conventional names (``DATABASE_URL``, ``REDIS_URL``, ``BLOB_URL`` ...). An empty variable is one that is not set. A
    secret may be in a file instead, which ``<VARIABLE>_FILE`` names.
    """

    database_url: DatabaseUrl = Field(validation_alias="DATABASE_URL")
    """PostgreSQL, as the role the service runs as: it may not change tables or rewrite history. The tables are in the
    schema ``public``. ``?sslmode=verify-full&sslrootcert=system`` checks the server's certificate, by libpq's rules."""
    database_owner_url: DatabaseUrl | None = Field(default=None, validation_alias="DATABASE_OWNER_URL")
    """PostgreSQL, as the role that owns the tables; only migrations use it. Default: ``DATABASE_URL``."""
    database_password: SecretStr | None = Field(default=None, validation_alias="DATABASE_PASSWORD")
    """The password of ``DATABASE_URL`` if the URL has none: any characters, and none escaped."""
    database_owner_password: SecretStr | None = Field(default=None, validation_alias="DATABASE_OWNER_PASSWORD")
    """The password of ``DATABASE_OWNER_URL`` if the URL has none."""
    redis_url: RedisUrl = Field(validation_alias="REDIS_URL")
    """Redis or Valkey, for messages to workers and for rate limits: ``redis://host:6379/0``. ``rediss://`` is TLS that
    checks the certificate against the system's CAs. ``?ssl_ca_certs=/path/ca.pem`` names another CA, ``ssl_certfile``
    and ``ssl_keyfile`` a client's certificate; ``ssl_cert_reqs=none`` checks nothing."""
    redis_password: SecretStr | None = Field(default=None, validation_alias="REDIS_PASSWORD")
    """The password of ``REDIS_URL`` if the URL has none."""
    blob_url: BlobUrl = Field(validation_alias="BLOB_URL")
    """Where zips and other files are stored: ``file:///folder`` or ``s3://bucket/prefix``."""
    s3_secret_key: SecretStr | None = Field(default=None, validation_alias="AWS_SECRET_ACCESS_KEY")
    """The secret key of an S3 store; its name and the store's address are among the variables of [S3](#s3)."""

    min_free_bytes: int = Field(500_000_000, ge=0)
    """Uploads are refused while their disk has fewer free bytes than this, or fewer free inodes in proportion."""
    scratch: Path = Field(default_factory=default_scratch)
    """The folder of a worker for decoded images and local copies of reference features, and of a web process for parts
    of uploads on their way to S3; may be lost at any time."""
    max_scratch_bytes: int = 20_000_000_000
    """Bytes of decoded images that a machine keeps there; the least recently used ones go first."""
    weights_dir: Path | None = None
    """The folder with the weights that come in no package (``docs/how-to/weights.md``)."""
    weights_sha256: dict[str, str] = {}
    """Hashes (hex) required of those weights, by extractor name; else the first load records them beside the files."""
    device: Annotated[str, StringConstraints(pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$")] = "auto"
    """Where extractors run: ``cpu``, ``cuda`` for the first GPU, ``cuda:3`` for the fourth, ``auto`` for the first GPU
    if there is one. A worker has one GPU, on which its processes take turns: start one for each."""
    batch_size: int | None = Field(default=None, ge=1)
    """Images at a time. Without it 8 on a CPU, and on a GPU the largest that safely fits; halved where memory ends."""
    decoding_processes: int | None = Field(None, ge=0)
    """Processes without files, network and much memory that decode an entry's images. Without it as many as there are
    cores, up to 4; 0, as on systems other than Linux, decodes in the worker itself."""
    recovery: dict[str, int | str | tuple[float, float, float, float]] = {}
    """Changes to the plan of latent recovery, which decides how thoroughly a generator is searched: values by name,
    as in ``{"train": 400, "held_out": 400}``, or ``{"method": "authors", "starts": 10}`` for the authors' steps."""
    accept_weaker_sandbox: bool = False
    """Whether uploaded generators are audited on systems that lack a required measure of the sandbox (Landlock, the
    filter of system calls, an unprivileged user); docs/explanation/sandbox.md says what they could then do. Without it
    such files are not opened."""

    max_upload_bytes: int = 2 * 1024**3
    """The largest zip accepted, of an entry or of reference images."""
    max_team_bytes: int | None = Field(100 * 1024**3, ge=1)
    """Bytes of a team's zips, generators, code and uploads under way in a competition. Without it there is no limit."""
    max_competition_bytes: int | None = Field(None, ge=1)
    """The same of all teams; announced bytes reserve at most a quarter of the free ones. Without it: no limit."""
    clamd: SocketAddress | None = None
    """The clamd (ClamAV) that scans uploads for malware: the path of its socket, or ``host:port``. Infected uploads are
    refused; while it is away, entries wait and other uploads get 503. Without it nothing is scanned."""
    generator_max_bytes: int = Field(256 * 1024**2, ge=1)
    """The largest ONNX file accepted as an entry's generator."""
    upload_life_seconds: int = Field(24 * 3600, ge=60, le=7 * 24 * 3600)
    """Seconds without progress after which an upload is removed."""
    kept_days: int = Field(30, ge=1)
    """Days for which ended sessions, used links, sent mails, webhook calls, uploads and refused zips are kept."""
    kept_zip_days: int | None = Field(None, ge=1)
    """Days after a final publication after which the zips leave that no decision rests on. Without it all stay."""
    s3_public_endpoint: HttpAddress | None = None
    """The S3 endpoint that participants reach: with ``AWS_SECRET_ACCESS_KEY``, programs may upload directly to it."""
    web_processes: int = Field(1, ge=1)
    """Web processes of the whole installation. ``kennel up``, the compose file and the units start this many."""
    web_connections: int = Field(30, ge=2)
    """Database connections that a web process may open; of them four are for boards."""
    worker_processes: int = Field(2, ge=0)
    """Worker processes of the whole installation: what is behind Celery's ``--concurrency``, added up."""
    worker_connections: int = Field(5, ge=2)
    """Database connections that a worker process may open."""
    workers_from_zero: bool = False
    """Whether workers, except those that check, may run only while something waits, as with KEDA on Kubernetes."""
    database_pooler: bool = False
    """Whether ``DATABASE_URL`` is that of a pooler: PgBouncer in transaction mode. Without one, all processes together
    may not open more connections than the server has."""
    readiness_seconds: float = Field(2.0, gt=0, le=60)
    """Seconds after which a dependency that has not answered counts as away in ``/readyz``."""
    lease_seconds: int = 30
    """Seconds without renewal after which a worker's lease expires and its job is free."""
    sweep_seconds: int = 15
    """Seconds between sweeps, which free expired leases and send lost messages again."""
    max_attempts: int = 3
    """Attempts after which a job has failed."""
    max_job_seconds: int = 6 * 3600
    """Seconds after which a job is taken to hang, and its process is ended."""
    max_stall_seconds: int = 600
    """Seconds without any progress after which a job's lease is no longer renewed, so that another worker takes it."""
    retry_factor: float = Field(1.0, gt=0)
    """Factor on all pauses after a failure: of jobs and suspected workers, between tries to record a result, and until
    an upload that a web process has left whole is finished by another. Below 1 for rehearsals of outages."""

    traces_endpoint: HttpAddress | None = None
    """The OpenTelemetry collector of traces (OTLP over HTTP), ``http://collector:4318``. Needs the extra ``traces``."""

    public_url: HostAddress = "http://127.0.0.1:8000"
    """The public address of this service, without a path. With ``https://`` cookies are sent over HTTPS only."""
    sign_up: Literal["open", "invitation"] = "open"
    """Who may make an account: everybody, or only people whom an organizer has invited."""
    require_confirmed_address: bool = False
    """Whether an account needs a confirmed mail address to submit entries. Benchmark entries need none."""
    require_second_factor: Literal["nobody", "admins", "organizers", "everybody"] = "nobody"
    """Who can do nothing here before a second factor is set up, with API tokens neither. Organizers: admins, too."""
    smtp_url: SmtpUrl | None = None
    """``smtps://user:password@host``, or ``smtp://host:25`` in a trusted network: without TLS, links in mails are sent
    in clear. Without the setting mails stay in the outbox; use ``kennel admin account reset-link``."""
    mail_from: MailSender = "Kennel <kennel@localhost>"
    """The sender of mails."""
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(parts_of)] = ()
    """Addresses and networks of the proxies before the web processes, separated by commas, whose ``X-Forwarded-For``
    and ``X-Forwarded-Proto`` say who visits. Without it a visitor has the address of the connection."""
    webhooks_local: bool = False
    """Whether webhooks may use plain HTTP and private addresses. Anybody with an account can make a webhook, so set it
    only where everybody may reach every address that workers can reach."""
    rates: dict[str, str] = {}
    """Rate limits that differ from the defaults, by name, for example ``{"sign-in": "5/minute"}``."""

    oidc_issuer: HttpsAddress | None = None
    """An OpenID Connect issuer whose users may sign in, such as ``https://accounts.example.org``; without TLS only on
    this machine. It is trusted: a user with a verified address there gets the account with that address here."""
    oidc_client_id: str = ""
    """The client id under which the issuer has registered this service."""
    oidc_client_secret: SecretStr = SecretStr("")
    """The client secret that the issuer has given this service."""
    oidc_name: str = "OpenID Connect"
    """The provider's name on the button ``Sign in with ...``."""

    metrics_token: SecretStr | None = None
    """The bearer token for ``/metrics``. Without it web processes have none, and a worker's port answers anybody."""
    metrics_port: int | None = Field(None, ge=1, le=65535)
    """A worker's port for ``/metrics``, if any. It needs ``PROMETHEUS_MULTIPROC_DIR``, an empty folder."""
    liveness_path: Path | None = None
    """A file that a worker, and beat, touch as long as they do their work, for checks of their health. One for each."""

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature of pydantic-settings
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments come first, then variables, then the files that variables name."""
        return init_settings, env_settings, SecretFiles(settings_cls)

    @model_validator(mode="before")
    @classmethod
    def _add_passwords(cls, values: dict[str, Any]) -> dict[str, Any]:
        added = dict(values)
        for url, password in PASSWORDS.items():
            secret = _value_of(values, password)
            for key in (url, variable_of(url)):
                if secret and isinstance(added.get(key), str):
                    added[key] = with_password(added[key], secret)
        return added

    @model_validator(mode="after")
    def _mails_say_where(self) -> "Settings":
        if self.smtp_url is not None and "public_url" not in self.model_fields_set:
            raise ValueError("KENNEL_SMTP_URL needs KENNEL_PUBLIC_URL, for the links in mails")
        if self.oidc_issuer is not None and not self.oidc_client_id:
            raise ValueError("KENNEL_OIDC_ISSUER needs KENNEL_OIDC_CLIENT_ID")
        return self

    @property
    def migration_url(self) -> str:
        """The database URL for migrations."""
        return (self.database_owner_url or self.database_url).get_secret_value()


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    return str(Settings.model_fields[name].validation_alias or f"KENNEL_{name.upper()}")


def _value_of(values: Mapping[str, Any], name: str) -> str | None:
    """A secret among raw values, which have the names of variables or those of fields."""
    value = values.get(variable_of(name), values.get(name))
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def read_settings(overrides: Mapping[str, str] = MappingProxyType({})) -> Settings:
    """Read the settings from variables, those in ``overrides`` first; ``Unavailable`` names missing and wrong ones."""
    variables = {name: variable_of(name) for name in Settings.model_fields}
    return _read(Settings, {name: overrides[each] for name, each in variables.items() if each in overrides})


def read_log_settings() -> LogSettings:
    """Read how to log from the environment; ``Unavailable`` names wrong settings."""
    return _read(LogSettings, {})


def _read(kind: type[S], values: Mapping[str, str]) -> S:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(map(_in_words, error.errors()))
        raise Unavailable("settings", f"Settings are missing or wrong: {wrong}.") from None


def _in_words(fault: ErrorDetails) -> str:
    """A fault of the settings as an operator reads it, with the variable that it is about."""
    names = [variable_of(str(each)) if each in Settings.model_fields else str(each) for each in fault["loc"][:1]]
    return ": ".join([*names, fault["msg"].removeprefix("Value error, ")])


log = logging.getLogger(__name__)

PREFIX: Final = "KENNEL_"
OF_CLIENTS: Final = ("KENNEL_URL", "KENNEL_TOKEN")
"""What the commands of participants read."""
OF_DEPLOYMENTS: Final = ("KENNEL_MODE",)
"""What docker-compose.yml reads."""


def warn_of_unknown_settings(environ: Iterable[str]) -> None:
    """Log a warning for each variable that no part of the service reads, with the setting that may be meant."""
    for name, meant in unknown_settings(environ).items():
        log.warning("%s is no setting%s", name, f": is {meant} meant?" if meant else "")


def unknown_settings(environ: Iterable[str]) -> Mapping[str, str | None]:
    """The variables of an environment that begin like settings and are none, each with the most similar setting."""
    known = {*OF_CLIENTS, *OF_DEPLOYMENTS, *map(variable_of, Settings.model_fields)}
    known |= {f"{variable_of(name)}{FILE_SUFFIX}" for name, field in Settings.model_fields.items() if is_secret(field)}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
    return {name: next(iter(get_close_matches(name, known, 1)), None) for name in unknown}
