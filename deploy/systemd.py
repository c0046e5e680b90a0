"""The units of the service: web, beat, workers that check, sweep and draw, one without a GPU, and one for each GPU.

Each unit has only the secrets that it needs, can write only to the service's own folders, and has the memory limits of
the compose file. With ``KillMode=mixed`` only the main process of a worker gets the signal and ends its own processes,
so that jobs go back to their queue. All units collect their metrics in one folder, so ``/metrics`` of the web process
includes the workers' metrics: two workers of one machine could not share a port.
"""

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from scorer.monitoring import FOLDER_VARIABLE
from scorer.process_resources import THREADS_VARIABLE, usable_cores

Section = Mapping[str, str | Sequence[str]]
"""Values by key; a sequence becomes several lines."""


CONFIGURATION, STATE, CACHE = "/etc/kennel", "/var/lib/kennel", "/var/cache/kennel"
SECRETS = {
    "database_password": "DATABASE_PASSWORD_FILE",
    "database_owner_password": "DATABASE_OWNER_PASSWORD_FILE",
    "redis_password": "REDIS_PASSWORD_FILE",
    "draw_key": "KENNEL_DRAW_KEY_FILE",
    "smtp_url": "KENNEL_SMTP_URL_FILE",
    "oidc_client_secret": "KENNEL_OIDC_CLIENT_SECRET_FILE",
    "metrics_token": "KENNEL_METRICS_TOKEN_FILE",
}
"""Files that ``deploy/make_secrets.sh`` creates, and their variables, without keys of the object store."""
OBJECTS_SECRET = "objects_secret_"  # noqa: S105 - the beginning of names of files
OF_WORKERS = ("database_password", "redis_password")
CHECK_PROCESSES, SWEEP_PROCESSES = 2, 2
WEB_PROCESSES = "KENNEL_WEB_PROCESSES"
"""The setting from which connections are counted: a line in kennel.env overrides the unit's."""
BEAT = "kennel-beat"
METRICS = "kennel-metrics"
"""The folder below ``/run`` for the metrics of all units. It belongs to the migration, which starts first and counts as
active until the last unit has ended: so the folder exists for all units, and is empty after each start of the service.
"""
GIVE_BACK_SECONDS = 120
"""A score goes back to its queue at the next batch."""
HOMES = (Path("/home"), Path("/root"))
HARDENING: Section = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "strict",
    "PrivateTmp": "yes",
    "ProtectClock": "yes",
    "ProtectControlGroups": "yes",
    "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes",
    "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes",
    "LockPersonality": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
}
"""No ``RestrictNamespaces``: the sandbox of uploaded generators creates namespaces, in which it has fewer rights."""


@dataclass(frozen=True)
class Plan:
    """Workers for ``gpus`` GPUs (0: scores on the processor), web on ``port``, all under the account ``user``."""

    gpus: int
    port: int
    user: str

    @property
    def worker_processes(self) -> int:
        return CHECK_PROCESSES + SWEEP_PROCESSES + 2 + (self.gpus * PROCESSES_PER_GPU or 1)


@dataclass(frozen=True)
class Process:
    """One of the services: its name, description, command, secrets, memory, and seconds until it must have ended.

    ``objects``: the name of its key of the object store.
    """

    name: str
    description: str
    command: Sequence[str]
    secrets: Sequence[str]
    memory: str
    stop_seconds: int
    objects: str = ""
    environment: Sequence[str] = ()
    once: bool = False
    """Whether it runs once and ends before the others start."""
    devices: bool = False
    """Whether it needs the machine's devices."""

    @property
    def files(self) -> list[str]:
        return [*self.secrets, *([f"{OBJECTS_SECRET}{self.objects}"] if self.objects else [])]


def build_files(plan: Plan) -> Mapping[str, str]:
    """The unit files and the two files of variables, by name."""
    units = {f"{process.name}.service": _service_text(process, plan) for process in build_processes(plan)}
    return {
        **units,
        "kennel.target": _target_text(plan),
        "kennel.env": _settings_text(plan),
        "operator.env": "".join(
            [
                *(f"{name}={CONFIGURATION}/secrets/{file}\n" for file, name in SECRETS.items()),
                *(f"{line}\n" for line in _objects_key("backup", f"{CONFIGURATION}/secrets")),
            ]
        ),
    }


def build_processes(plan: Plan) -> list[Process]:
    """All services. The service for GPUs is a template; its instance is the GPU's index."""
    return [
        Process(
            "kennel-migrate",
            "Kennel: migrates the database to this version",
            (str(Path(sys.executable).with_name("kennel")), "migrate"),
            ["database_owner_password"],
            "1G",
            60,
            once=True,
        ),
        Process(
            "kennel-web",
            "Kennel: web",
            web_command("127.0.0.1", plan.port, f"${{{WEB_PROCESSES}}}"),
            [name for name in SECRETS if name != "database_owner_password"],
            "4G",
            30,
            "api",
            environment=[f"{WEB_PROCESSES}=1"],
        ),
        Process(BEAT, "Kennel: beat", beat_command(f"%t/{BEAT}/schedule"), ["redis_password"], "512M", 30),
        Process(
            "kennel-check",
            "Kennel: checks of uploads",
            worker_command("check", CHECKING_QUEUES, processes=CHECK_PROCESSES),
            [*OF_WORKERS, "draw_key"],
            "8G",
            60,
            "check",
        ),
        Process(
            "kennel-draw",
            "Kennel: draws images from generators",
            worker_command("draw", DRAWING_QUEUES),
            [*OF_WORKERS, "draw_key"],
            "8G",
            GIVE_BACK_SECONDS,
            "draw",
            environment=["KENNEL_DEVICE=cpu"],
        ),
        Process(
            "kennel-sweep",
            "Kennel: sweeps, mails and webhooks",
            worker_command("sweep", SWEEPING_QUEUES, processes=SWEEP_PROCESSES),
            [*OF_WORKERS, "smtp_url"],
            "1G",
            60,
            "sweep",
        ),
        Process(
            "kennel-cpu",
            "Kennel: evidence, audits of generators and data releases",
            worker_command("cpu", BACKGROUND_QUEUES),
            OF_WORKERS,
            "16G",
            GIVE_BACK_SECONDS,
            "cpu",
            environment=["KENNEL_DEVICE=cpu", *_threads(plan, background_threads)],
        ),
        _scoring_process(plan),
    ]


def _scoring_process(plan: Plan) -> Process:
    if plan.gpus == 0:
        name, description, device = "kennel-score", "Kennel: scores", "cpu"
        command = worker_command("score", SCORING_QUEUES)
    else:
        name, description, device = "kennel-gpu@", "Kennel: scores on GPU %i", "cuda:%i"
        command = worker_command("gpu-%i", SCORING_QUEUES, processes=PROCESSES_PER_GPU)
    environment = [f"KENNEL_DEVICE={device}", *_threads(plan, scoring_threads)]
    return Process(
        name, description, command, OF_WORKERS, "32G", GIVE_BACK_SECONDS, "gpu", environment, devices=bool(plan.gpus)
    )


def _threads(plan: Plan, share: Callable[[int, int], int]) -> list[str]:
    """The variable that limits a worker's threads if processes on GPUs share this machine's cores with others."""
    return [f"{THREADS_VARIABLE}={share(usable_cores(), plan.gpus)}"] if plan.gpus else []


def _objects_key(name: str, folder: str) -> list[str]:
    """An object store's key; its secret is a file in ``folder``. A line in kennel.env overrides the first variable."""
    return [f"AWS_ACCESS_KEY_ID=kennel-{name}", f"AWS_SECRET_ACCESS_KEY_FILE={folder}/{OBJECTS_SECRET}{name}"]


def _service_text(process: Process, plan: Plan) -> str:
    before = ["network-online.target", "postgresql.service", "valkey-server.service", "redis-server.service"]
    order: dict[str, str] = {"After": " ".join([*before, *([] if process.once else ["kennel-migrate.service"])])}
    order |= {"Wants": "network-online.target"} if process.once else {"Requires": "kennel-migrate.service"}
    runs = (
        {"Type": "oneshot", "RemainAfterExit": "yes"}
        if process.once
        else {"Type": "exec", "Restart": "always", "RestartSec": "5"}
    )
    metrics = "%t/" + METRICS
    folders: dict[str, str] = {"ReadWritePaths": metrics}
    if process.once:
        folders = {"RuntimeDirectory": METRICS}
    elif process.name == BEAT:
        folders |= {"RuntimeDirectory": BEAT}
    return unit_text(
        {
            "Unit": {"Description": process.description, **order, "PartOf": "kennel.target"},
            "Service": {
                **runs,
                "User": plan.user,
                "ExecStart": command_line(process.command),
                "EnvironmentFile": f"{CONFIGURATION}/kennel.env",
                "Environment": [
                    *process.environment,
                    *([] if process.once else [f"{FOLDER_VARIABLE}={metrics}"]),
                    *(f"{SECRETS[name]}=%d/{name}" for name in process.secrets),
                    *(_objects_key(process.objects, "%d") if process.objects else []),
                ],
                "LoadCredential": [f"{name}:{CONFIGURATION}/secrets/{name}" for name in process.files],
                "WorkingDirectory": STATE,
                "StateDirectory": "kennel",
                "CacheDirectory": "kennel",
                **folders,
                "KillMode": "mixed",
                "KillSignal": "SIGTERM",
                "TimeoutStopSec": str(process.stop_seconds),
                "MemoryMax": process.memory,
                "TasksMax": "1000",
                "LimitNOFILE": "65536",
                **HARDENING,
                "PrivateDevices": "no" if process.devices else "yes",
                "ProtectHome": "read-only" if _is_in_a_home() else "yes",
            },
            "Install": {"WantedBy": "kennel.target"},
        }
    )


def _is_in_a_home() -> bool:
    """Whether this environment is in a folder that ``ProtectHome=yes`` would hide."""
    return any(Path(sys.prefix).is_relative_to(home) for home in HOMES)


def _target_text(plan: Plan) -> str:
    names = [process.name for process in build_processes(plan) if not process.name.endswith("@")]
    wanted = [f"{name}.service" for name in names] + [f"kennel-gpu@{index}.service" for index in range(plan.gpus)]
    return unit_text(
        {
            "Unit": {"Description": "Kennel: the whole service", "Wants": " ".join(wanted)},
            "Install": {"WantedBy": "multi-user.target"},
        }
    )


def _settings_text(plan: Plan) -> str:
    settings = {
        "DATABASE_URL": "postgresql://kennel_app@127.0.0.1/kennel",
        "DATABASE_OWNER_URL": "postgresql://kennel_owner@127.0.0.1/kennel",
        "REDIS_URL": "redis://127.0.0.1:6379/0",
        "BLOB_URL": f"file://{STATE}/blobs",
        "KENNEL_PUBLIC_URL": "https://kennel.example.org",
        "KENNEL_TRUSTED_PROXIES": "127.0.0.1",
        "KENNEL_SCRATCH": f"{CACHE}/scratch",
        "KENNEL_WEIGHTS_DIR": f"{STATE}/weights",
        "KENNEL_WORKER_PROCESSES": str(plan.worker_processes),
        WEB_PROCESSES: "1",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def unit_text(sections: Mapping[str, Section]) -> str:
    return "\n".join(_section_text(name, section) for name, section in sections.items())


def _section_text(name: str, section: Section) -> str:
    lines = [f"[{name}]"]
    for key, value in section.items():
        lines += [f"{key}={item}" for item in ([value] if isinstance(value, str) else value)]
    return "\n".join(lines) + "\n"


def command_line(words: Sequence[str]) -> str:
    """A command for ``ExecStart``, with specifiers and variables of systemd; Celery reads ``%h`` as the host."""
    return " ".join(map(_quoted, words)).replace("%h", "%%h")


def _quoted(word: str) -> str:
    """A word, in quotes if necessary; ``${NAME}`` is replaced with the value of a variable, as one word."""
    return word if re.fullmatch(r"\$\{\w+\}", word) else shlex.quote(word)
