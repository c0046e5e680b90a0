"""The objects of ``deploy/kubernetes`` as ``kubectl kustomize`` renders them, and what a pod of them is like."""

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
    """Every object of a folder of ``deploy/kubernetes``."""
    command = [str(Path(sys.executable).with_name("kubectl")), "kustomize", str(FOLDER / folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(yaml.safe_load_all(done.stdout))


def named(kind: str, folder: str) -> dict[str, Object]:
    """The objects of a kind, by name."""
    return {each["metadata"]["name"]: each for each in render(folder) if each["kind"] == kind}


def workloads(folder: str) -> dict[str, Object]:
    """What has pods: deployments, and the job that migrates."""
    return named("Deployment", folder) | named("Job", folder)


def pod_of(workload: Object) -> dict[str, Any]:
    """The specification of a workload's pods."""
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


def container_of(workload: Object) -> dict[str, Any]:
    """The one container of a workload's pods."""
    (container,) = pod_of(workload)["containers"]
    return dict(container)


def environment_of(folder: str, container: Object) -> dict[str, str]:
    """The variables of a container, those of its ConfigMaps first."""
    maps = named("ConfigMap", folder)
    variables: dict[str, str] = {}
    for source in container["envFrom"]:
        variables |= maps[source["configMapRef"]["name"]]["data"]
    return variables | {each["name"]: _value(maps, container, each) for each in container.get("env", ())}


def _value(maps: Mapping[str, Object], container: Object, variable: Object) -> str:
    """A variable's value; of one that is the container's own request, that request."""
    if "value" in variable:
        return str(variable["value"])
    if key := variable["valueFrom"].get("configMapKeyRef"):
        return str(maps[key["name"]]["data"][key["key"]])
    (resources, _, resource) = variable["valueFrom"]["resourceFieldRef"]["resource"].partition(".")
    return str(container["resources"][resources][resource])


def mounts_of(workload: Object) -> dict[str, tuple[Mapping[str, Any], bool]]:
    """By path in a workload's container: the volume, and whether it can only be read."""
    volumes = {volume["name"]: volume for volume in pod_of(workload)["volumes"]}
    mounts = container_of(workload)["volumeMounts"]
    return {mount["mountPath"]: (volumes[mount["name"]], mount.get("readOnly", False)) for mount in mounts}


def secrets_of(workload: Object) -> set[str]:
    """The secrets that a workload's pods can read."""
    volumes = [volume["secret"] for volume in pod_of(workload)["volumes"] if "secret" in volume]
    return {item["path"] for volume in volumes for item in volume["items"]}


def is_selected(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector takes what has these labels."""
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    expressions = selector.get("matchExpressions", ())
    assert all(each["operator"] == "In" for each in expressions), "no other operator is used here"
    return equal and all(labels.get(each["key"]) in each["values"] for each in expressions)


def selected_components(selector: Mapping[str, Any], folder: str) -> set[str]:
    """The workloads whose pods a label selector takes."""
    labels = {name: each["spec"]["template"]["metadata"]["labels"] for name, each in workloads(folder).items()}
    return {name for name, own in labels.items() if is_selected(selector, own)}


SCALED = ("worker-check", "worker-cpu", "worker-gpu")
SELECTOR = re.compile(r"(?P<metric>\w+)\{(?P<labels>[^}]*)\}")


def triggers_of(folder: str, name: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """The metrics by which a worker is scaled: metric, labels, and how much of it is a pod's."""
    for trigger in named("ScaledObject", folder)[name]["spec"]["triggers"]:
        match = SELECTOR.fullmatch(trigger["metadata"]["valueLocation"])
        assert match is not None
        labels = dict(re.findall(r'(\w+)="([^"]*)"', match["labels"]))
        yield match["metric"], labels, float(trigger["metadata"]["targetValue"])
