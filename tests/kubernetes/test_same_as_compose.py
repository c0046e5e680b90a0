"""Each service of docker-compose.yml has the same command, settings, secrets, health check and limits on Kubernetes."""

import re
from typing import Any

import pytest

from scorer.settings import FILE_SUFFIX
from tests.compose.compose_file import MAIN, ROOT, read, services
from tests.kubernetes.manifests import (
    BASE,
    EXAMPLE,
    find_container,
    find_pod,
    list_mounts,
    list_secrets,
    named,
    read_environment,
    workloads,
)

COMPOSE = services({"DOMAIN": "kennel.example.org"})
ELSEWHERE = {"proxy", "postgres", "valkey", "objects", "bucket"}
"""The cluster's ingress controller, and servers that run outside this namespace."""
OURS = sorted(COMPOSE.keys() - ELSEWHERE)
WORKLOADS = workloads(EXAMPLE)
DEPENDING_ON_PLACE = {
    "AWS_ENDPOINT",
    "DATABASE_OWNER_URL",
    "DATABASE_URL",
    "KENNEL_TRUSTED_PROXIES",
    "KENNEL_WEB_PROCESSES",
    "KENNEL_WORKER_PROCESSES",
    "OMP_NUM_THREADS",
    "REDIS_URL",
}
"""Variables that depend on where the service runs: addresses, and numbers of processes and threads."""
ONLY_IN_COMPOSE = {
    "AWS_ALLOW_HTTP": "only the object store in compose's network has no TLS",
    "CUDA_VISIBLE_DEVICES": "a pod sees only its own GPU",
    "WEB_CONCURRENCY": "a pod has one web process, and there are several pods",
}
ONLY_HERE = {
    "KENNEL_TRUSTED_PROXIES": "compose sets it only for the web process, here it is in the common ConfigMap",
    "KENNEL_METRICS_PORT": "workers are scraped",
    "KENNEL_WORKERS_FROM_ZERO": "KEDA starts and stops workers",
    "PROMETHEUS_MULTIPROC_DIR": "workers are scraped",
}
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()

each_service = pytest.mark.parametrize("name", OURS)


def seconds(duration: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(s|m)", duration).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60}[unit]


def quantity(size: str) -> str:
    """A size of compose as Kubernetes writes it. Both use powers of two."""
    number, unit = re.fullmatch(r"(\d+)([mg])b?", size).groups()  # type: ignore[union-attr]
    return f"{number}{unit.upper()}i"


def test_every_service_is_a_workload_or_runs_elsewhere() -> None:
    assert set(WORKLOADS) == set(OURS)
    assert set(COMPOSE) > ELSEWHERE


@each_service
def test_commands(name: str) -> None:
    """Without a command, a container runs the command of its image, both in compose and on Kubernetes."""
    assert find_container(WORKLOADS[name]).get("command") == COMPOSE[name].get("command")


@each_service
def test_images(name: str) -> None:
    image = find_container(workloads(BASE)[name])["image"]
    assert image == f"kennel-{COMPOSE[name]['build']['target']}"


@each_service
def test_settings(name: str) -> None:
    compose, here = COMPOSE[name]["environment"], read_environment(EXAMPLE, find_container(WORKLOADS[name]))
    assert compose.keys() - here.keys() <= ONLY_IN_COMPOSE.keys()
    assert here.keys() - compose.keys() <= ONLY_HERE.keys()
    common = compose.keys() & here.keys() - DEPENDING_ON_PLACE
    assert {key: here[key] for key in common} == {key: compose[key] for key in common}


@each_service
def test_every_setting_can_be_set(name: str) -> None:
    """Every container reads the common ConfigMap, as compose passes on every setting from .env."""
    (settings,) = (config_map for config_map in named("ConfigMap", EXAMPLE) if config_map.startswith("settings-"))
    pod = find_pod(WORKLOADS[name])
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        assert container["envFrom"][0] == {"configMapRef": {"name": settings}}


@each_service
def test_secrets(name: str) -> None:
    assert list_secrets(WORKLOADS[name]) == set(COMPOSE[name]["secrets"])
    environment = read_environment(EXAMPLE, find_container(WORKLOADS[name]))
    files = {value for key, value in environment.items() if key.endswith(FILE_SUFFIX)}
    assert files == {f"/run/secrets/{secret}" for secret in list_secrets(WORKLOADS[name])}
    volume, read_only = list_mounts(WORKLOADS[name])["/run/secrets"]
    assert volume["secret"]["secretName"] == "kennel-secrets"
    assert volume["secret"]["defaultMode"] == 0o440
    assert read_only


def test_secrets_have_the_names_of_the_files_of_compose() -> None:
    """This lets `kubectl create secret --from-file=secrets/` create all of them."""
    used = {item for workload in WORKLOADS.values() for item in list_secrets(workload)}
    assert used == set(read(MAIN)["secrets"]) - {"objects_secret", "objects_secret_backup"}, (
        "the object store runs elsewhere"
    )


def test_health_checks() -> None:
    for name in OURS:
        check = COMPOSE[name].get("healthcheck", {})
        container = find_container(WORKLOADS[name])
        if check.get("disable"):
            assert "livenessProbe" not in container
        elif name == "api":
            _check_web(container)
        else:
            kind, script = check["test"]
            assert kind == "CMD-SHELL"
            command = ["/bin/sh", "-c", script]
            assert container["readinessProbe"]["exec"]["command"] == command
            assert container["livenessProbe"]["exec"]["command"] == command
            assert container["readinessProbe"]["periodSeconds"] == seconds(check["interval"])
            assert container["readinessProbe"]["timeoutSeconds"] == seconds(check["timeout"])
            assert container["livenessProbe"]["initialDelaySeconds"] == seconds(check["start_period"])


def _check_web(container: dict[str, Any]) -> None:
    interval, timeout, address = re.search(  # type: ignore[union-attr]
        r"HEALTHCHECK --interval=(\d+)s --timeout=(\d+)s CMD .*'http://127.0.0.1:8000([^']*)'", DOCKERFILE
    ).groups()
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": address, "port": "http"}
        assert container[probe]["periodSeconds"] == int(interval)
        assert container[probe]["timeoutSeconds"] == int(timeout)
    assert container["startupProbe"]["httpGet"]["path"] == "/readyz"
    assert container["ports"] == [{"name": "http", "containerPort": 8000}]


@pytest.mark.parametrize("name", ["worker-check", "worker-draw", "worker-sweep", "worker-cpu", "worker-gpu"])
def test_an_unreachable_queue_server_does_not_stop_a_score(name: str) -> None:
    """A worker without its queue server touches no health file, and may have been computing a score for an hour."""
    probe = find_container(WORKLOADS[name])["livenessProbe"]
    assert probe["failureThreshold"] * probe["periodSeconds"] >= 1800


@each_service
def test_permissions(name: str) -> None:
    pod = find_pod(WORKLOADS[name])
    user = int(re.findall(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)[-1])
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert {pod["securityContext"][key] for key in ("runAsUser", "runAsGroup", "fsGroup")} == {user}
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["shareProcessNamespace"] is COMPOSE[name]["init"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False, "variables of services would be read as settings"
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is COMPOSE[name]["read_only"]
        assert context["capabilities"] == {"drop": COMPOSE[name]["cap_drop"]}
        assert context["allowPrivilegeEscalation"] is False
        assert container["resources"]["limits"]["memory"]
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()


@each_service
def test_limits(name: str) -> None:
    limits = find_container(WORKLOADS[name])["resources"]["limits"]
    assert limits["memory"] == quantity(COMPOSE[name]["mem_limit"])
    grace = find_pod(WORKLOADS[name])["terminationGracePeriodSeconds"]
    assert grace == seconds(COMPOSE[name].get("stop_grace_period", "30s"))


@each_service
def test_volumes(name: str) -> None:
    """A pod has the volumes of compose, and one folder each for temporary files, metrics and secrets."""
    mounts = list_mounts(WORKLOADS[name])
    compose = {volume.split(":")[1]: volume.endswith(":ro") for volume in COMPOSE[name].get("volumes", ())}
    compose |= dict.fromkeys(COMPOSE[name]["tmpfs"], False)
    shared_memory = {"/dev/shm": False} if "shm_size" in COMPOSE[name] else {}
    expected = compose | shared_memory | {"/metrics": False, "/run/secrets": True}
    assert {path: read_only for path, (_, read_only) in mounts.items()} == expected
    if shared_memory:
        assert mounts["/dev/shm"][0]["emptyDir"]["sizeLimit"] == quantity(COMPOSE[name]["shm_size"])


def test_excepted_variables_are_in_the_compose_file() -> None:
    known = {key for name in OURS for key in COMPOSE[name]["environment"]}
    assert known >= (DEPENDING_ON_PLACE | ONLY_IN_COMPOSE.keys())
