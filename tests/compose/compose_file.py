"""Reads docker-compose.yml as docker compose does: merges files, substitutes variables, resolves environments."""

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
    """YAML with compose's ``!reset``, which removes a value of an earlier file."""


class Reset:
    """The value of ``!reset``."""


Loader.add_constructor("!reset", lambda *_: Reset())


def read(*files: str) -> dict[str, Any]:
    """Merge compose files in order, without substituting their variables."""
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
    """Add the values of the service that this one ``extends``. Lists other than commands are joined."""
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
    """The variables of a compose file with their defaults, "" if a variable has none."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from variables_in(part)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for part in value:
            yield from variables_in(part)
    elif isinstance(value, str):
        for match in VARIABLE.finditer(value):
            if match["name"]:
                yield match["name"], match["rest"] if match["kind"] == "-" else ""


def substitute(value: Any, variables: Mapping[str, str]) -> Any:
    """Substitute the variables in a value of a compose file. ``KeyError`` names a required variable without a value,
    ``ValueError`` a dollar sign that compose refuses."""
    if isinstance(value, Mapping):
        return {name: substitute(part, variables) for name, part in value.items()}
    if isinstance(value, list):
        return [substitute(part, variables) for part in value]
    return VARIABLE.sub(lambda match: _substitute(match, variables), value) if isinstance(value, str) else value


def _substitute(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if match["escaped"]:
        return "$"
    if match["name"] is None:
        raise ValueError(f"${match['wrong']}")
    value = variables.get(match["name"], "")
    if not value and match["kind"] == "?":
        raise KeyError(match["name"])
    return value or (match["rest"] if match["kind"] == "-" else "")


def services(variables: Mapping[str, str], *files: str) -> dict[str, dict[str, Any]]:
    """The services with all variables substituted. A variable without a value in an environment gets it from
    ``variables``; if it has none there, it is left out."""
    whole: dict[str, dict[str, Any]] = read(*(files or (MAIN,)))["services"]
    described = {name: substitute(_with_inherited(service, whole), variables) for name, service in whole.items()}
    for service in described.values():
        given = service.get("environment", {})
        passed_on = {name: variables.get(name) if value is None else str(value) for name, value in given.items()}
        service["environment"] = {name: value for name, value in passed_on.items() if value is not None}
    return described


def without_password(url: str) -> str:
    """A server's address as it is in the compose file."""
    return re.sub(r":[^:@/]*@", "@", url)
