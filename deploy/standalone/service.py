"""The whole service under one supervisor: servers, migrations, first admin, web, workers, beat."""

import http.client
import json
import os
import re
import secrets
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib import request

from sqlalchemy import make_url

import migrations
from deploy.standalone.child_process import Child, installation
from deploy.standalone.commands import (
    BACKGROUND_QUEUES,
    CHECKING_QUEUES,
    DRAWING_QUEUES,
    PROCESSES_PER_GPU,
    SCORING_QUEUES,
    SWEEPING_QUEUES,
    background_threads,
    beat_command,
    scoring_threads,
    web_command,
    worker_command,
)
from deploy.standalone.data_folder import ADDRESSES, METRICS, SCRATCH, DataFolder
from deploy.standalone.ports import free_port, require_port
from deploy.standalone.postgres import Postgres
from deploy.standalone.preload import OWNER_PREFIX, preloading
from deploy.standalone.redis import Redis
from deploy.standalone.supervisor import Supervisor
from deploy.standalone.unix_account import acting_as
from scorer.accounts import accounts, one_time_links
from scorer.confinement.import_path import IMPORT_PATH
from scorer.db.accounts import account_by_handle, any_admin
from scorer.db.jobs import worker_reports
from scorer.db.session import Sessions, connected, require_connections
from scorer.errors import Unavailable
from scorer.monitoring import FOLDER_VARIABLE
from scorer.process_resources import THREADS_VARIABLE, usable_cores
from scorer.settings import Settings, find_variable, read_settings
from worker.runtime.device_probe import device_found
from worker.runtime.scratch import require_scratch

HOST = "127.0.0.1"
LOOPBACK = {HOST, "localhost"}
ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - only compared
ADMIN = "admin"
PATHS = re.compile(r"KENNEL_SCRATCH|KENNEL_WEIGHTS_DIR|\w+_FILE|UVICORN_SSL_(KEY|CERT)FILE")
"""The variables with paths, including those of files with secrets."""
ANY_ADDRESSES = {
    "DATABASE_URL": "postgresql://localhost/",
    "REDIS_URL": "redis://localhost",
    "BLOB_URL": "file:///",
    "KENNEL_SCRATCH": "/",
}
"""Placeholders for the embedded parts' addresses, to check all other settings before these parts start."""
PROCESSES_VARIABLE = "KENNEL_WORKER_PROCESSES"
TLS_VARIABLE = "UVICORN_SSL_CERTFILE"
"""Uvicorn's own variable: with it and ``UVICORN_SSL_KEYFILE``, web processes accept only TLS."""


@dataclass(frozen=True)
class RunningService:
    url: str
    settings: Settings


def start_service(
    supervisor: Supervisor,
    data: DataFolder,
    *,
    host: str = HOST,
    port: int = 0,
    environ: Mapping[str, str] = os.environ,
    durable: bool = True,
) -> RunningService:
    """Start every part and return when the service responds. ``DATABASE_URL``, ``REDIS_URL`` and ``BLOB_URL`` in
    ``environ`` replace the embedded parts. The web process listens on ``host``. Raises ``Unavailable`` with one
    sentence.
    """
    require_public_url(host, environ)
    supervisor.preload(preloading(data, environ))
    given = read_settings({name: address for name, address in ANY_ADDRESSES.items() if name not in environ})
    if "KENNEL_SCRATCH" in environ:
        with acting_as(data.account):
            require_scratch(given.scratch.absolute())
    if port:
        require_port(port, host)
    addresses = _addresses(supervisor, data, environ, durable=durable)
    if given.draw_key is None:
        addresses[find_variable("draw_key")] = data.secret("draw_key")
    port = port or free_port(host)
    url = f"http://{_reachable(host)}:{port}"
    addresses["KENNEL_PUBLIC_URL"] = environ.get("KENNEL_PUBLIC_URL", url)
    environment = build_environment(data, environ, addresses)
    addresses[PROCESSES_VARIABLE] = environment[PROCESSES_VARIABLE]
    settings = read_settings(addresses)
    data.write_private(ADDRESSES, json.dumps(addresses, indent=1) + "\n")
    app_role = make_url(settings.database_url.get_secret_value()).username
    began = time.monotonic()
    migrations.upgrade(settings.migration_url, app_role)
    supervisor.log.line("schema", f"brought up to date in {time.monotonic() - began:.1f} s")
    children = service_children(
        environment, data.private_folder("beat"), port, web_processes=settings.web_processes, host=host
    )
    with connected(settings) as sessions:
        require_connections(sessions, settings)
        supervisor.start(
            *(
                replace(child, user=data.account, reached=installation(settings.weights_dir))
                for child in (_ready_with_report(child, sessions) for child in children)
            )
        )
    supervisor.end_preload()
    ensure_admin(settings)
    return RunningService(url, settings)


def _ready_with_report(child: Child, sessions: Sessions) -> Child:
    """The same part; a worker is ready once it has reported that it takes messages."""
    if "-Q" not in child.argv:
        return child
    worker = f"{child.name}@{socket.gethostname()}"
    with sessions.begin() as session:
        worker_reports.remove_report(session, worker)  # the report of the previous process

    def has_reported() -> bool:
        with sessions() as session:
            return any(report.worker == worker for report in worker_reports.recent_reports(session))

    return replace(child, ready=has_reported)


def build_environment(data: DataFolder, environ: Mapping[str, str], addresses: Mapping[str, str]) -> dict[str, str]:
    """The variables of all parts, without the password of the tables' owner: ``environ`` and the ``addresses`` of the
    embedded parts. Also the device found on this machine, so that a GPU's worker is known before a part starts, and the
    number of worker processes, from which each process computes the database connections.
    """
    own = {"KENNEL_LOG_FORMAT": "text", FOLDER_VARIABLE: str(data.private_folder(METRICS))}
    everything = {**own, **absolute_paths(environ), **addresses}
    environment = {name: value for name, value in everything.items() if not name.startswith(OWNER_PREFIX)}
    environment["KENNEL_DEVICE"] = device_found(environ.get("KENNEL_DEVICE") or "auto")
    environment[PROCESSES_VARIABLE] = environ.get(PROCESSES_VARIABLE) or str(worker_processes(environment))
    if data.account is not None:
        environment["HOME"] = str(data.private_folder(SCRATCH))
    environment.pop("KENNEL_METRICS_PORT", None)  # /metrics of the web process includes the workers' metrics
    return environment


def require_public_url(host: str, environ: Mapping[str, str]) -> None:
    """Raise ``Unavailable`` if others can reach the web process (``host`` is not loopback) and KENNEL_PUBLIC_URL is
    unset: it speaks HTTP without TLS, so the address of the proxy in front of it must be known.
    """
    if host not in LOOPBACK and not environ.get("KENNEL_PUBLIC_URL"):
        raise Unavailable(
            "no-public-url",
            f"Others can reach the service at {host}, and it speaks HTTP without TLS. Put a proxy with TLS in "
            "front of it, and set KENNEL_PUBLIC_URL to its https:// address and KENNEL_TRUSTED_PROXIES to the "
            "proxy's own address. Or set KENNEL_PUBLIC_URL to http://..., which sends passwords unencrypted.",
        )


def absolute_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with absolute paths in settings that are paths, for parts that work in another folder."""
    paths = {name for name, value in environ.items() if value and PATHS.fullmatch(name)}
    return {name: str(Path(value).absolute()) if name in paths else value for name, value in environ.items()}


def _reachable(host: str) -> str:
    """The address in URLs through which this machine reaches a server on ``host``."""
    return HOST if host == ALL_ADDRESSES else host


def _addresses(
    supervisor: Supervisor, data: DataFolder, environ: Mapping[str, str], *, durable: bool
) -> dict[str, str]:
    scratch = data.private_folder(SCRATCH)
    addresses = {"KENNEL_SCRATCH": environ.get("KENNEL_SCRATCH", str(scratch))}
    if "REDIS_URL" not in environ:
        redis = Redis(data, durable=durable)
        redis.start(supervisor)
        addresses["REDIS_URL"] = redis.url
    if "DATABASE_URL" not in environ:
        postgres = Postgres(data, durable=durable)
        postgres.start(supervisor)
        addresses |= {"DATABASE_URL": postgres.app_url, "DATABASE_OWNER_URL": postgres.owner_url}
    if "BLOB_URL" not in environ:
        addresses["BLOB_URL"] = data.private_folder("blobs").as_uri()
    return addresses


def ensure_admin(settings: Settings) -> None:
    """Create the first admin, unless there is an admin."""
    with connected(settings) as sessions, sessions.begin() as session:
        if not any_admin(session):
            accounts.create_account(session, handle=ADMIN, name="Admin", role="admin", now=datetime.now(UTC))


WORKER_NICENESS = 5
"""Workers use all cores for minutes; pages and uploads on the same machine have priority."""


def worker_processes(environment: Mapping[str, str]) -> int:
    """The number of worker processes with this ``environment``."""
    return 1 + (PROCESSES_PER_GPU + 1 if _has_gpu(environment) else 1)


def _has_gpu(environment: Mapping[str, str]) -> bool:
    return environment.get("KENNEL_DEVICE", "").startswith("cuda")


def service_children(
    environment: Mapping[str, str], state: Path, port: int, *, web_processes: int = 1, host: str = HOST
) -> list[Child]:
    """The service's own processes: web on ``port`` of ``host``, a worker for each group of queues, and beat with its
    state in the folder ``state``. If scores are computed on a GPU, its worker only scores, in two processes that take
    turns; another worker does the rest, and they share the cores.
    """
    scheme = "https" if environment.get(TLS_VARIABLE) else "http"
    url = f"{scheme}://{_reachable(host)}:{port}/api/v1/ready"

    # Uvicorn and Celery import from the working directory first, which may contain packages with the same names.
    import_path = os.pathsep.join(filter(None, (IMPORT_PATH, environment.get("PYTHONPATH"))))
    environment = {**environment, "PYTHONPATH": import_path}

    def child(name: str, argv: Sequence[str], **how: Any) -> Child:
        return Child(name, argv, env=environment, cwd=Path("/"), restart=True, preloaded=True, **how)

    def worker_child(name: str, processes: int, queues: Sequence[str], **how: Any) -> Child:
        command = worker_command(name, queues, processes=processes)
        return child(name, command, niceness=WORKER_NICENESS, **how)

    # Stopping does not wait for a long score: its lease expires and the job is claimed again.
    scorer = partial(worker_child, "scorer", stop_timeout=5.0)
    without_scores = (*DRAWING_QUEUES, *BACKGROUND_QUEUES)
    if _has_gpu(environment):
        cores = usable_cores()
        for_gpu = {THREADS_VARIABLE: str(scoring_threads(cores, 1)), **environment}
        without_gpu = {THREADS_VARIABLE: str(background_threads(cores, 1)), **environment, "KENNEL_DEVICE": "cpu"}
        scoring = [
            # The numbers of threads are read when the modules are loaded.
            replace(scorer(PROCESSES_PER_GPU, SCORING_QUEUES), env=for_gpu, preloaded=False),
            replace(worker_child("analyst", 1, without_scores), env=without_gpu, preloaded=False),
        ]
    else:
        scoring = [scorer(1, (*SCORING_QUEUES, *without_scores))]
    return [
        # All web processes start at the same time and share the cores.
        child(
            "api",
            web_command(host, port, web_processes),
            ready=lambda: _is_healthy(url),
            ready_timeout=60.0 * web_processes,
        ),
        worker_child("checker", 1, [*CHECKING_QUEUES, *SWEEPING_QUEUES]),
        *scoring,
        child("beat", beat_command(str(state / "beat-schedule"))),
    ]


def _is_healthy(url: str) -> bool:
    # It is our own process, and its certificate is not for this address.
    unverified = ssl._create_unverified_context()  # noqa: S323, SLF001
    opener = request.build_opener(request.ProxyHandler({}), request.HTTPSHandler(context=unverified))
    try:
        with opener.open(url, timeout=2.0) as answer:
            return bool(answer.status == http.client.OK)
    except (OSError, http.client.HTTPException):
        return False


def sign_in_address(settings: Settings, handle: str, onward: str = "/") -> str:
    """A link that works once and leads to the page ``onward``; the sign-in page if the account no longer exists."""
    secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
    with connected(settings) as sessions, sessions.begin() as session:
        account = account_by_handle(session, handle)
        if account is None:
            return f"{settings.public_url}/signin"
        return one_time_links.sign_in_link(
            session, account, secret=secret, site=settings.public_url, onward=onward, now=now
        )
