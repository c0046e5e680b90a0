"""The objects of ``deploy/kubernetes`` as ``kubectl kustomize`` renders them, and the properties of their pods."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.compose.compose_file import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
COMPONENT = "app.kubernetes.io/component"
BASE = "base"
OVERLAYS = tuple(sorted(f"overlays/{path.name}" for path in (FOLDER / "overlays").iterdir()))
EXAMPLE = "overlays/example"
Object = Mapping[str, Any]


@cache
def render(folder: str) -> Sequence[Object]:
    command = [str(Path(sys.executable).with_name("kubectl")), "kustomize", str(FOLDER / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.safe_load_all(done.stdout))


def named(kind: str, folder: str) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in render(folder) if item["kind"] == kind}


def workloads(folder: str) -> dict[str, Object]:
    """The objects with pods: deployments, and the job that migrates the database."""
    return named("Deployment", folder) | named("Job", folder)


def find_pod(workload: Object) -> dict[str, Any]:
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


def find_container(workload: Object) -> dict[str, Any]:
    (container,) = find_pod(workload)["containers"]
    return dict(container)


def read_environment(folder: str, container: Object) -> dict[str, str]:
    """The variables of a container, which override those from its ConfigMaps."""
    maps = named("ConfigMap", folder)
    variables: dict[str, str] = {}
    for source in container["envFrom"]:
        variables |= maps[source["configMapRef"]["name"]]["data"]
    return variables | {variable["name"]: _value(maps, container, variable) for variable in container.get("env", ())}


def _value(maps: Mapping[str, Object], container: Object, variable: Object) -> str:
    """A variable's value. A variable can also refer to a key of a ConfigMap or to the container's own resources."""
    if "value" in variable:
        return str(variable["value"])
    if key := variable["valueFrom"].get("configMapKeyRef"):
        return str(maps[key["name"]]["data"][key["key"]])
    (resources, _, resource) = variable["valueFrom"]["resourceFieldRef"]["resource"].partition(".")
    return str(container["resources"][resources][resource])


def list_mounts(workload: Object) -> dict[str, tuple[Mapping[str, Any], bool]]:
    """By path in a workload's container: the volume, and whether it is read-only."""
    volumes = {volume["name"]: volume for volume in find_pod(workload)["volumes"]}
    mounts = find_container(workload)["volumeMounts"]
    return {mount["mountPath"]: (volumes[mount["name"]], mount.get("readOnly", False)) for mount in mounts}


def list_secrets(workload: Object) -> set[str]:
    volumes = [volume["secret"] for volume in find_pod(workload)["volumes"] if "secret" in volume]
    return {item["path"] for volume in volumes for item in volume["items"]}


def is_selected(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches these labels."""
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    expressions = selector.get("matchExpressions", ())
    assert all(expression["operator"] == "In" for expression in expressions), "only this operator is implemented here"
    return equal and all(labels.get(expression["key"]) in expression["values"] for expression in expressions)


def selected_components(selector: Mapping[str, Any], folder: str) -> set[str]:
    """The workloads that have pods that a label selector matches."""
    labels = {name: workload["spec"]["template"]["metadata"]["labels"] for name, workload in workloads(folder).items()}
    return {name for name, own in labels.items() if is_selected(selector, own)}


SCALED = ("worker-check", "worker-draw", "worker-cpu", "worker-gpu")
SELECTOR = re.compile(r"(?P<metric>\w+)\{(?P<labels>[^}]*)\}")


def find_triggers(folder: str, name: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """The metrics that scale a worker: metric, labels, and the target value per pod."""
    for trigger in named("ScaledObject", folder)[name]["spec"]["triggers"]:
        match = SELECTOR.fullmatch(trigger["metadata"]["valueLocation"])
        assert match is not None
        labels = dict(re.findall(r'(\w+)="([^"]*)"', match["labels"]))
        yield match["metric"], labels, float(trigger["metadata"]["targetValue"])
