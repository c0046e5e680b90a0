"""What Kubernetes adds to the services: GPU pools, scaling, disruptions, networks, ingress and metrics."""

import copy
import json
import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import kubernetes_validate
import pytest
import yaml

from scorer.db.session import max_open_connections
from scorer.lifecycle import UPLOADS_QUEUE, Queue
from scorer.settings import Settings
from tests.compose.compose_file import ROOT, services
from tests.kubernetes.manifests import (
    BASE,
    COMPONENT,
    EXAMPLE,
    FOLDER,
    OVERLAYS,
    SCALED,
    Object,
    find_container,
    find_pod,
    find_triggers,
    list_secrets,
    named,
    read_environment,
    render,
    selected_components,
    workloads,
)

COMPOSE = services({"DOMAIN": "kennel.example.org"})
WORKERS = (*SCALED, "worker-sweep")


def option(workload: Mapping[str, Any], name: str) -> str:
    command: list[str] = find_container(workload)["command"]
    return command[command.index(name) + 1]


def parse_queues(workload: Mapping[str, Any]) -> set[str]:
    return set(option(workload, "-Q").split(","))


@pytest.mark.parametrize("folder", [BASE, *OVERLAYS])
def test_the_database_has_connections_for_all_pods(folder: str) -> None:
    """Each workload has its maximum number of pods, and web has one more during an update."""
    found, scaled = workloads(folder), named("ScaledObject", folder)
    most = {
        name: scaled[name]["spec"]["maxReplicaCount"] if name in scaled else found[name]["spec"]["replicas"]
        for name in WORKERS
    }
    workers = sum(most[name] * int(option(found[name], "--concurrency")) for name in WORKERS)
    web = found["api"]["spec"]["replicas"] + found["api"]["spec"]["strategy"]["rollingUpdate"]["maxSurge"]
    assert all(found[name]["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0 for name in WORKERS)
    environment = read_environment(folder, find_container(found["api"]))
    assert environment["KENNEL_WORKER_PROCESSES"] == str(workers)
    assert environment["KENNEL_WEB_PROCESSES"] == str(web)
    settings = Settings(
        database_url="postgresql://x/x",
        redis_url="redis://x",
        blob_url="file:///x",
        worker_processes=workers,
        web_processes=web,
    )
    (limit,) = (word for word in COMPOSE["postgres"]["command"] if word.startswith("-cmax_connections"))
    assert max_open_connections(settings) < int(limit.partition("=")[2])


@pytest.mark.parametrize("name", ["worker-cpu", "worker-gpu"])
@pytest.mark.parametrize("folder", OVERLAYS)
def test_a_pod_has_as_many_threads_as_cores(folder: str, name: str) -> None:
    """With more threads than cores, the threads of a matrix product wait for each other and for other pods."""
    worker = workloads(folder)[name]
    threads = int(read_environment(folder, find_container(worker))["OMP_NUM_THREADS"])
    cores = find_container(worker)["resources"]["requests"]["cpu"]
    assert int(option(worker, "--concurrency")) * threads == int(cores)


@pytest.mark.parametrize("folder", OVERLAYS)
def test_a_pod_has_one_gpu_or_none(folder: str) -> None:
    worker = workloads(folder)["worker-gpu"]
    device = read_environment(folder, find_container(worker))["KENNEL_DEVICE"]
    gpus = find_container(worker)["resources"]["limits"].get("nvidia.com/gpu")
    expected = ("cpu", None, "1") if folder.endswith("-cpu") else ("cuda", "1", "2")
    assert (device, gpus, option(worker, "--concurrency")) == expected
    assert ("tolerations" in find_pod(worker), "nodeSelector" in find_pod(worker)) == (gpus == "1", gpus == "1")


def test_generators_are_opened_where_the_sandbox_works() -> None:
    """It needs torch, and a processor for which it filters system calls."""
    opening = {
        name for name in WORKERS if parse_queues(workloads(BASE)[name]) & {Queue.CHECK, Queue.DRAW, Queue.RECOVER}
    }
    pods = {name: find_pod(workloads(BASE)[name]) for name in opening}
    assert {name: pod["containers"][0]["image"] for name, pod in pods.items()} == dict.fromkeys(
        opening, "kennel-worker"
    )
    assert all(pod["nodeSelector"] == {"kubernetes.io/arch": "amd64"} for pod in pods.values())


def test_eight_gpus_are_eight_pods() -> None:
    most = {folder: named("ScaledObject", folder)["worker-gpu"]["spec"]["maxReplicaCount"] for folder in OVERLAYS}
    assert most["overlays/example-eight-gpus"] == 8
    assert most[EXAMPLE] < 8


@pytest.mark.parametrize("folder", OVERLAYS)
@pytest.mark.parametrize("name", SCALED)
def test_workers_are_scaled_by_the_age_of_their_queues_and_running_jobs(name: str, folder: str) -> None:
    """Waiting jobs start a pod, running jobs keep it. Otherwise a long job would end as soon as its queue is empty."""
    worker = workloads(folder)[name]
    triggers = list(find_triggers(folder, name))
    queues = parse_queues(worker) & set(Queue)
    age, jobs = "kennel_queue_oldest_due_seconds", "kennel_queue_jobs"
    assert {labels["queue"] for metric, labels, _ in triggers if metric == age} == queues
    running = [(labels["queue"], target) for metric, labels, target in triggers if metric == jobs]
    assert {queue for queue, _ in running} == queues
    assert {target for _, target in running} == {float(option(worker, "--concurrency"))}
    assert len(triggers) == 2 * len(queues)


@pytest.mark.parametrize("name", SCALED)
def test_workers_scale_to_zero_except_those_that_finish_uploads(name: str) -> None:
    scaled, worker = named("ScaledObject", EXAMPLE)[name]["spec"], workloads(EXAMPLE)[name]
    assert scaled["scaleTargetRef"] == {"name": name}
    assert scaled["minReplicaCount"] == (UPLOADS_QUEUE in parse_queues(worker))
    assert "replicas" not in worker["spec"], "applying the files again would undo the scaling"


def test_keda_reads_the_metrics_with_their_token() -> None:
    authentication = named("TriggerAuthentication", EXAMPLE)["metrics"]["spec"]["secretTargetRef"]
    assert authentication == [{"parameter": "token", "name": "kennel-secrets", "key": "metrics_token"}]
    service = named("Service", EXAMPLE)["api"]
    address = f"http://api.{service['metadata']['namespace']}.svc:{service['spec']['ports'][0]['port']}/metrics"
    for scaled in named("ScaledObject", EXAMPLE).values():
        for trigger in scaled["spec"]["triggers"]:
            assert trigger["authenticationRef"] == {"name": "metrics"}
            assert trigger["metadata"]["url"] == address
            assert (trigger["metadata"]["authMode"], trigger["metadata"]["format"]) == ("bearer", "prometheus")


def test_a_drain_of_nodes_takes_one_pod_at_a_time() -> None:
    budgets = named("PodDisruptionBudget", EXAMPLE)
    assert set(budgets) == {"api", *WORKERS}
    for name, budget in budgets.items():
        assert budget["spec"]["maxUnavailable"] == 1
        assert selected_components(budget["spec"]["selector"], EXAMPLE) == {name}


def test_web_stops_after_the_ingress_has_removed_it() -> None:
    pod = find_pod(workloads(EXAMPLE)["api"])
    (pause,) = (container["lifecycle"]["preStop"]["exec"]["command"][1] for container in pod["containers"])
    assert 0 < int(pause) < pod["terminationGracePeriodSeconds"]
    assert workloads(EXAMPLE)["api"]["spec"]["replicas"] > 1


def test_pods_that_read_the_database_wait_for_its_tables() -> None:
    for name, workload in workloads(EXAMPLE).items():
        waiting = [container["command"] for container in find_pod(workload).get("initContainers", ())]
        needed = "database_password" in list_secrets(workload)
        assert waiting == ([["kennel", "migrate", "--wait"]] if needed else []), name
        for container in find_pod(workload).get("initContainers", ()):
            environment = read_environment(EXAMPLE, container)
            assert environment["DATABASE_PASSWORD_FILE"] == "/run/secrets/database_password"


def components_allowed(policy: str, folder: str = EXAMPLE) -> set[str]:
    """The workloads that a network policy selects."""
    return selected_components(named("NetworkPolicy", folder)[policy]["spec"]["podSelector"], folder)


@pytest.mark.parametrize(
    ("policy", "port", "secrets"),
    [
        ("allow-database", 5432, {"database_password", "database_owner_password"}),
        ("allow-queue-server", 6379, {"redis_password"}),
        (
            "allow-object-store",
            443,
            {f"objects_secret_{name}" for name in ("api", "check", "draw", "sweep", "cpu", "gpu")},
        ),
    ],
)
def test_a_server_is_reached_by_workloads_that_have_its_secret(policy: str, port: int, secrets: set[str]) -> None:
    with_secret = {name for name, workload in workloads(EXAMPLE).items() if list_secrets(workload) & secrets}
    assert components_allowed(policy) == with_secret
    (rule,) = named("NetworkPolicy", EXAMPLE)[policy]["spec"]["egress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": port}]


def test_only_services_with_an_outer_network_reach_the_internet() -> None:
    with_outer_network = {name for name in workloads(EXAMPLE) if set(COMPOSE[name]["networks"]) - {"inner"}}
    assert components_allowed("allow-internet") == with_outer_network


@pytest.fixture(scope="module")
def with_every_choice(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example with all its commented-out lines enabled."""
    copied = tmp_path_factory.mktemp("kubernetes") / "kubernetes"
    shutil.copytree(FOLDER, copied)
    for file in (copied / EXAMPLE).iterdir():
        file.write_text(re.sub(r"^( *)# (?=- |KENNEL_)", r"\1", file.read_text(), flags=re.MULTILINE))
    return str(copied / EXAMPLE)


@pytest.mark.parametrize(
    ("policy", "variable", "components"),
    [
        ("allow-traces", "KENNEL_TRACES_ENDPOINT", {"api", *WORKERS}),
        ("allow-malware-scanner", "KENNEL_CLAMD", {"api", "worker-check"}),
    ],
)
def test_an_optional_component_opens_the_address_of_its_setting(
    policy: str, variable: str, components: set[str], with_every_choice: str
) -> None:
    """The component allows private addresses and one namespace. Without the component, the policy does not exist."""
    assert policy not in named("NetworkPolicy", EXAMPLE)
    allowed = named("NetworkPolicy", with_every_choice)[policy]
    validate(allowed, VERSIONS[0])
    assert components_allowed(policy, with_every_choice) == components
    (rule,) = allowed["spec"]["egress"]
    environment = read_environment(with_every_choice, find_container(workloads(with_every_choice)["api"]))
    address = urlsplit(environment[variable] if "//" in environment[variable] else f"//{environment[variable]}")
    assert rule["ports"] == [{"protocol": "TCP", "port": address.port}]
    (database,) = named("NetworkPolicy", EXAMPLE)["allow-database"]["spec"]["egress"]
    assert [peer for peer in rule["to"] if "ipBlock" in peer] == database["to"]
    assert all(peer.get("ipBlock") or peer["namespaceSelector"]["matchLabels"] for peer in rule["to"])


def test_nothing_is_reached_without_being_allowed() -> None:
    policies = {name: policy["spec"] for name, policy in named("NetworkPolicy", EXAMPLE).items()}
    assert policies["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    reached = {
        name: {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
        for name, policy in policies.items()
        if "ingress" in policy
    }
    assert reached == {
        "allow-ingress-controller": {"http"},
        "allow-keda": {"http"},
        "allow-monitoring": {"http", "metrics"},
    }
    assert components_allowed("allow-ingress-controller") == components_allowed("allow-keda") == {"api"}
    assert all(rule["from"] for policy in policies.values() for rule in policy.get("ingress", ()))


def test_the_address_has_a_certificate() -> None:
    (ingress,) = named("Ingress", EXAMPLE).values()
    host = urlsplit(read_environment(EXAMPLE, find_container(workloads(EXAMPLE)["api"]))["KENNEL_PUBLIC_URL"]).hostname
    assert ingress["metadata"]["annotations"]["cert-manager.io/cluster-issuer"]
    assert [entry["hosts"] for entry in ingress["spec"]["tls"]] == [[host]]
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == host
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"] == {"name": "api", "port": {"name": "http"}}
    service = named("Service", EXAMPLE)["api"]["spec"]
    assert selected_components({"matchLabels": service["selector"]}, EXAMPLE) == {"api"}
    assert service["ports"][0]["targetPort"] == find_container(workloads(EXAMPLE)["api"])["ports"][0]["name"]


def test_scrapes_have_the_names_that_alerts_use() -> None:
    known = yaml.safe_load((ROOT / "deploy" / "monitoring" / "prometheus.yml").read_text())["scrape_configs"]
    monitors = named("PodMonitor", EXAMPLE)
    jobs = {
        endpoint["relabelings"][0]["replacement"]
        for monitor in monitors.values()
        for endpoint in monitor["spec"]["podMetricsEndpoints"]
    }
    assert jobs == {config["job_name"] for config in known} == set(monitors)
    scraped = {name: selected_components(monitor["spec"]["selector"], EXAMPLE) for name, monitor in monitors.items()}
    assert scraped == {"kennel-web": {"api"}, "kennel-worker": set(WORKERS)}
    assert components_allowed("allow-monitoring") == {"api", *WORKERS}
    for name in WORKERS:
        container = find_container(workloads(EXAMPLE)[name])
        (port,) = container["ports"]
        environment = read_environment(EXAMPLE, container)
        assert port == {"name": "metrics", "containerPort": int(environment["KENNEL_METRICS_PORT"])}
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert environment["PROMETHEUS_MULTIPROC_DIR"] in mounts


def test_selectors_select_their_own_pods() -> None:
    for name, workload in named("Deployment", EXAMPLE).items():
        assert selected_components(workload["spec"]["selector"], EXAMPLE) == {name}
        assert workload["metadata"]["labels"][COMPONENT] == name


SCHEMAS = Path(__file__).parent / "schemas"
VERSIONS = ("1.30", kubernetes_validate.latest_version())
"""The oldest supported version, and the newest for which there are schemas."""


@cache
def find_validator(kind: str) -> jsonschema.Draft202012Validator | None:
    """The validator of a kind that is not built into Kubernetes."""
    file = SCHEMAS / f"{kind.lower()}.json"
    return jsonschema.Draft202012Validator(json.loads(file.read_text())) if file.exists() else None


def validate(document: Object, version: str) -> None:
    """Raise ``jsonschema.ValidationError`` if an object has an unknown field or lacks a required one."""
    own = find_validator(document["kind"])
    if own is not None:
        own.validate(document)
    else:
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("folder", [BASE, *OVERLAYS])
def test_objects_are_valid(folder: str, version: str) -> None:
    for document in render(folder):
        try:
            validate(document, version)
        except jsonschema.ValidationError as error:
            pytest.fail(f"{document['kind']} {document['metadata']['name']}: {error.message}")


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("Deployment", "api", ("spec", "template", "spec")),
        ("NetworkPolicy", "allow-dns", ("spec",)),
        ("ScaledObject", "worker-gpu", ("spec",)),
        ("TriggerAuthentication", "metrics", ("spec",)),
        ("PodMonitor", "kennel-web", ("spec",)),
    ],
)
def test_a_wrong_field_is_found(kind: str, name: str, path: tuple[str, ...]) -> None:
    wrong: Any = copy.deepcopy(named(kind, EXAMPLE)[name])
    place = wrong
    for step in path:
        place = place[step]
    place["noSuchField"] = "x"
    with pytest.raises(jsonschema.ValidationError, match="noSuchField"):
        validate(wrong, VERSIONS[0])


def test_objects_of_an_overlay_have_its_namespace_and_unique_names() -> None:
    for folder in OVERLAYS:
        objects = [document for document in render(folder) if document["kind"] != "Namespace"]
        assert {document["metadata"]["namespace"] for document in objects} == {"kennel"}
        names = [(document["kind"], document["metadata"]["name"]) for document in objects]
        assert len(names) == len(set(names))
