"""Requests made from the OpenAPI document: values of the documented types, and values that are none, from a seed."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.privacy.canaries import Canaries
from tests.privacy.requests import CALLS, RouteCall, parameters_of

METHODS = ("get", "post", "put", "patch", "delete")
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**31, 2**63, -(2**63) - 1, 10**30, 1e308, -1e-308),
    *("", " ", "\0", "a" * 5000, "\ud800", "\u202e", "\u0130", "'; --", "../..", "%00", "<b>", "=1+1"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999+14:00", "2026-02-30T00:00:00Z", "-1", "1e9", "nan"),
    *([], {}, [[]], [None], {"": {}}, [{}] * 300),
)
"""Values that somebody may send instead of a documented one."""
HOSTILE_SHARE, KNOWN_SHARE, OPTIONAL_SHARE = 0.2, 0.8, 0.6
MAX_DEPTH = 6


@dataclass(frozen=True)
class OpenApiRequest:
    """A request of an operation; ``body`` is JSON, where the operation takes it."""

    method: str
    template: str
    """The path in the document, with the names of its parameters."""
    path: str
    query: Mapping[str, Any]
    body: Any = None
    has_body: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path} {dict(self.query)} {str(self.body)[:300] if self.has_body else ''}"


def requests_from(document: Mapping[str, Any], planted: Canaries, *, seed: int) -> Iterator[OpenApiRequest]:
    """A request of every operation."""
    for path, operations in document["paths"].items():
        for method in (each for each in METHODS if each in operations):
            yield _request(document, path, method, planted, random.Random(f"{seed} {method} {path}"))


def _request(
    document: Mapping[str, Any], path: str, method: str, planted: Canaries, rng: random.Random
) -> OpenApiRequest:
    operation = document["paths"][path][method]
    call = CALLS.get(f"{method.upper()} {path}", RouteCall())
    known = {**parameters_of(planted), **call.words(planted)}
    template, query = path, {}
    for parameter in operation.get("parameters", ()):
        name, schema = parameter["name"], parameter.get("schema", {})
        if parameter["in"] == "path":
            value = (
                rng.choice(known[name])
                if name in known and rng.random() < KNOWN_SHARE
                else _value(document, schema, rng)
            )
            path = path.replace(f"{{{name}}}", quote(_word(value), safe=""))
        elif parameter["in"] == "query" and (parameter.get("required") or rng.random() < OPTIONAL_SHARE):
            query[name] = _word(_value(document, schema, rng))
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return OpenApiRequest(method.upper(), template, path, query)
    body = _value(document, content["application/json"].get("schema", {}), rng)
    return OpenApiRequest(method.upper(), template, path, query, body, has_body=True)


def _word(value: Any) -> str:
    """A value within an address: never empty, which would be another address."""
    return str(value).encode("utf-8", "replace").decode()[:500] or "-"


def _value(document: Mapping[str, Any], schema: Mapping[str, Any], rng: random.Random, depth: int = 0) -> Any:
    if rng.random() < HOSTILE_SHARE or depth > MAX_DEPTH:
        return rng.choice(HOSTILE)
    if "$ref" in schema:
        named = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return _value(document, named, rng, depth + 1)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _value(document, rng.choice(schema[several]), rng, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    return _plain(document, schema, rng, depth)


def _plain(document: Mapping[str, Any], schema: Mapping[str, Any], rng: random.Random, depth: int) -> Any:
    match schema.get("type"):
        case "object":
            wanted = set(schema.get("required", ()))
            named = {
                name: _value(document, each, rng, depth + 1)
                for name, each in schema.get("properties", {}).items()
                if name in wanted or rng.random() < OPTIONAL_SHARE
            }
            more = schema.get("additionalProperties")
            return named | ({"a": _value(document, more, rng, depth + 1)} if isinstance(more, dict) else {})
        case "array":
            return [_value(document, schema.get("items", {}), rng, depth + 1) for _ in range(rng.choice([0, 1, 3]))]
        case "integer" | "number" as kind:
            low = schema.get("minimum", schema.get("exclusiveMinimum", -5))
            number = rng.choice([low, low + 1, schema.get("maximum", low + 1000), rng.randint(-5, 10**6)])
            return int(number) if kind == "integer" else float(number)
        case "boolean":
            return rng.random() < 0.5
        case "string":
            return _text(schema, rng)
    return rng.choice(HOSTILE)


def _text(schema: Mapping[str, Any], rng: random.Random) -> str:
    if schema.get("format") == "date-time":
        return rng.choice(["2026-03-14T12:00:00Z", "2026-12-01T00:00:00+05:45", "1970-01-01T00:00:00Z"])
    length = rng.choice([schema.get("minLength", 0), min(schema.get("maxLength", 20), 2000), 8])
    return "".join(rng.choice("abcxyz-_.09 é漢") for _ in range(length))
