"""docker-compose.yml as docker compose reads it: merged files, substituted variables, a service's own environment."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
MAIN = "docker-compose.yml"
BACKUP = "docker-compose.backup.yml"
VARIABLE = re.compile(
    r"\$(?:(?P<escaped>\$)|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}|(?P<wrong>.?))", re.DOTALL
)


class Loader(yaml.SafeLoader):
    """YAML with compose's ``!reset``, which takes a value of an earlier file away."""


class Reset:
    """What ``!reset`` stands for."""


Loader.add_constructor("!reset", lambda *_: Reset())


def read(*files: str) -> dict[str, Any]:
    """Compose files merged in order, their variables not yet substituted."""
    merged: dict[str, Any] = {}
    for file in files:
        merged = _merge(merged, yaml.load((ROOT / file).read_text(), Loader))
    return merged


def _merge(earlier: Any, later: Any) -> Any:
    if not isinstance(earlier, dict) or not isinstance(later, dict):
        return later
    merged = {name: _merge(earlier.get(name), value) for name, value in later.items()}
    return {name: value for name, value in {**earlier, **merged}.items() if not isinstance(value, Reset)}


def _with_inherited(service: dict[str, Any], others: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A service with what it has from the one that it ``extends``: lists are joined, but for commands."""
    if "extends" not in service:
        return service
    base = others[service["extends"]["service"]]
    joined = {
        name: [*base[name], *value]
        for name, value in service.items()
        if isinstance(value, list) and isinstance(base.get(name), list) and name != "command"
    }
    return {**_merge(base, service), **joined}


def variables_in(value: Any) -> Iterator[tuple[str, str]]:
    """The variables that are substituted in a compose file, with their defaults ("" without one)."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from variables_in(each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from variables_in(each)
    elif isinstance(value, str):
        for match in VARIABLE.finditer(value):
            if match["name"]:
                yield match["name"], match["rest"] if match["kind"] == "-" else ""


def substitute(value: Any, variables: Mapping[str, str]) -> Any:
    """A value of a compose file with variables substituted. ``KeyError`` names a required one without a value;
    ``ValueError`` a dollar sign that compose would refuse."""
    if isinstance(value, Mapping):
        return {name: substitute(each, variables) for name, each in value.items()}
    if isinstance(value, list):
        return [substitute(each, variables) for each in value]
    return VARIABLE.sub(lambda match: _value_of(match, variables), value) if isinstance(value, str) else value


def _value_of(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if match["escaped"]:
        return "$"
    if match["name"] is None:
        raise ValueError(f"${match['wrong']}")
    value = variables.get(match["name"], "")
    if not value and match["kind"] == "?":
        raise KeyError(match["name"])
    return value or (match["rest"] if match["kind"] == "-" else "")


def services(variables: Mapping[str, str], *files: str) -> dict[str, dict[str, Any]]:
    """The services with all variables substituted; variables without a value in an environment come from
    ``variables``, or are not there."""
    whole: dict[str, dict[str, Any]] = read(*(files or (MAIN,)))["services"]
    described = {name: substitute(_with_inherited(each, whole), variables) for name, each in whole.items()}
    for service in described.values():
        given = service.get("environment", {})
        passed_on = {name: variables.get(name) if value is None else str(value) for name, value in given.items()}
        service["environment"] = {name: value for name, value in passed_on.items() if value is not None}
    return described


def without_password(url: str) -> str:
    """A server's address as the compose file has it."""
    return re.sub(r":[^:@/]*@", "@", url)
