"""Checks of the queue server (Valkey or Redis): that it keeps messages, and takes them only from authorised clients."""

from typing import Any
from urllib.parse import urlsplit

from redis.exceptions import NoPermissionError

from deploy.doctor.installation import Check, Fault, Installation, Skipped

MIN_VERSION = (6, 2)
"""The oldest version that the client library and Celery's transport support."""
FULL_SHARE = 0.9
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def _answers(installation: Installation) -> str:
    with installation.queue_server() as client:
        client.ping()
    return "it responds"


def _info(installation: Installation) -> dict[str, Any]:
    with installation.queue_server() as client:
        try:
            info: dict[str, Any] = client.info()
        except NoPermissionError:
            raise Skipped("the user of REDIS_URL lacks the right to query it (INFO)") from None
    return info


def _single(installation: Installation) -> str:
    if _info(installation).get("cluster_enabled"):
        raise Fault("It is in cluster mode, which splits the queues across servers.")
    return "it is a single server"


def _version(installation: Installation) -> str:
    info = _info(installation)
    version = str(info["redis_version"])  # Valkey also reports the Redis version that it is compatible with
    if tuple(map(int, version.split(".")[:2])) < MIN_VERSION:
        raise Fault(f"It supports only the protocol of Redis {version}, older than {MIN_VERSION[0]}.{MIN_VERSION[1]}.")
    return f"{info.get('server_name', 'redis')} {info.get('valkey_version', version)}"


def _eviction(installation: Installation) -> str:
    policy = _info(installation)["maxmemory_policy"]
    if policy != "noeviction":
        raise Fault(f"With maxmemory-policy {policy}, the server drops queues and rate limits when its memory is full.")
    return "it never drops messages"


def _memory(installation: Installation) -> str:
    info = _info(installation)
    used, limit = int(info["used_memory"]), int(info["maxmemory"])
    if limit and used > FULL_SHARE * limit:
        raise Fault(f"{used:,} of {limit:,} bytes (maxmemory) are used. Once memory is full, messages are refused.")
    return f"{used:,} bytes are used" + (f" of {limit:,}" if limit else "")


def _disk(installation: Installation) -> str:
    info = _info(installation)
    names = ("rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status")
    failed = [name for name in names if info.get(name, "ok") != "ok"]
    if failed:
        raise Fault(f"It could not write to its disk ({', '.join(failed)}) and may refuse all messages.")
    return "the last write reached its disk"


def _password(installation: Installation) -> str:
    parts = urlsplit(installation.settings.redis_url.get_secret_value())
    if not parts.password and parts.hostname not in LOOPBACK:
        raise Fault(f"REDIS_URL has no password, so anyone who reaches {parts.hostname} can empty the queues.")
    return "it requires a password" if parts.password else "only this machine can reach it"


CHECKS = (
    Check("queue server", _answers, "Start Valkey, and check that REDIS_URL and its password match the server's."),
    Check("queue server mode", _single, "Start a server without `cluster-enabled yes`.", ["queue server"]),
    Check(
        "queue server version",
        _version,
        "Install Valkey 8 or newer; you need not migrate the messages.",
        ["queue server"],
    ),
    Check(
        "queue server eviction", _eviction, "Set `maxmemory-policy noeviction` in its configuration.", ["queue server"]
    ),
    Check("queue server memory", _memory, "Raise maxmemory, or remove other data from this server.", ["queue server"]),
    Check("queue server disk", _disk, "Free space on its disk, or fix the owner of its folder.", ["queue server"]),
    Check("queue server password", _password, "Set `requirepass` there and REDIS_PASSWORD_FILE here."),
)
