"""Every object of every overlay is one that Kubernetes, KEDA or the Prometheus operator knows."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest

from tests.kubernetes.manifests import BASE, EXAMPLE, OVERLAYS, Object, named, render

SCHEMAS = Path(__file__).parent / "schemas"
VERSIONS = ("1.30", kubernetes_validate.latest_version())
"""The oldest that is meant to run it, and the newest that is known."""


@cache
def validator_of(kind: str) -> jsonschema.Draft202012Validator | None:
    """The validator of a kind that is not Kubernetes' own."""
    file = SCHEMAS / f"{kind.lower()}.json"
    return jsonschema.Draft202012Validator(json.loads(file.read_text())) if file.exists() else None


def validate(each: Object, version: str) -> None:
    """Raise ``jsonschema.ValidationError`` if an object has a field that its kind has not, or lacks one."""
    own = validator_of(each["kind"])
    if own is not None:
        own.validate(each)
    else:
        kubernetes_validate.validate(each, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("folder", [BASE, *OVERLAYS])
def test_objects_are_valid(folder: str, version: str) -> None:
    for each in render(folder):
        try:
            validate(each, version)
        except jsonschema.ValidationError as error:
            pytest.fail(f"{each['kind']} {each['metadata']['name']}: {error.message}")


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


def test_an_overlay_s_objects_have_its_namespace_and_a_name_of_their_own() -> None:
    for folder in OVERLAYS:
        objects = [each for each in render(folder) if each["kind"] != "Namespace"]
        assert {each["metadata"]["namespace"] for each in objects} == {"kennel"}
        names = [(each["kind"], each["metadata"]["name"]) for each in objects]
        assert len(names) == len(set(names))
