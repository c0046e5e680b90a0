"""Settings: typed, read once from the environment and passed in; no rule reads the environment itself."""

import os
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, SecretStr, StringConstraints, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from scorer.errors import Unavailable
from scorer.setting_types import (
    BlobUrl,
    DatabaseUrl,
    HostAddress,
    HttpAddress,
    HttpsAddress,
    MailSender,
    RedisUrl,
    SmtpUrl,
    SocketAddress,
    default_scratch,
    is_secret,
    parts_of,
    with_password,
)

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
    mode: Literal["auto", "compiled", "eager"] = "auto"
    """How extractors run: ``compiled`` is torch.compile with frozen weights, which needs a C++ compiler and gains
    about 15 % for ``nasnetalarge`` on CPUs; ``auto`` is ``eager``. Each measurement's provenance records the mode."""
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
    def settings_customise_sources(
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
