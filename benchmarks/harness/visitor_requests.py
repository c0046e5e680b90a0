"""Random requests of visitors, for every readable address of an application.

Addresses and kinds of parameters come from the application's routes, so new routes and parameters need no change here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, TypeAdapter

Schema = Mapping[str, Any]
"""A JSON schema with its definitions under ``$defs``."""
TEXTS = ("", "a", "team", "team 4242", "E", "1", "%", "no such team", "é" * 100)
"""Values of free-text parameters: searches, names, formats."""
WRONG_SHARE = 0.05
"""The share of parameters with a value of the wrong kind."""
LEAST_DRAWS = 8
"""Also for an address without parameters, because garbage collection may slow down a single request."""
MAX_NUMBER = 10**9


@dataclass(frozen=True)
class ReadableRoute:
    """A readable address, with the schemas of its parameters by name."""

    path: str
    path_parameters: Mapping[str, Schema]
    query_parameters: Mapping[str, Schema]

    @property
    def draws(self) -> int:
        return max(LEAST_DRAWS, 1 + 3 * len(self.query_parameters))

    def draw(self, random: Random, words: Mapping[str, Sequence[str]], now: datetime) -> str:
        """Draw a path and query with random parameters.

        ``words`` has values by parameter name, existing ones and others. Any other parameter gets a value of its kind;
        a moment is in the two weeks before ``now``.
        """
        path = self.path
        for name, schema in self.path_parameters.items():
            value = random.choice(words[name]) if name in words else _value(schema, schema, random, now=now)
            path = path.replace(f"{{{name}}}", quote(value or "x", safe="")).replace(f"{{{name}:path}}", quote(value))
        query = {
            name: random.choice(words[name]) if name in words else _value(schema, schema, random, now=now)
            for name, schema in self.query_parameters.items()
            if random.random() < 0.5
        }
        return f"{path}?{urlencode(query)}" if query else path


def readable_routes(app: FastAPI) -> list[ReadableRoute]:
    """Every route of an application with the method GET, sorted by path."""
    routes = []
    for route in iter_route_contexts(app.routes):
        if "GET" in (route.methods or ()) and route.path:
            parts = list(_walk_dependants(getattr(route, "dependant", None)))
            in_path = dict(_schemas([parameter for part in parts for parameter in part.path_params]))
            in_query = dict(_schemas([parameter for part in parts for parameter in part.query_params]))
            routes.append(ReadableRoute(route.path, in_path, in_query))
    return sorted(routes, key=lambda route: route.path)


def _walk_dependants(dependant: Dependant | None) -> Iterator[Dependant]:
    """A route's function and its dependencies, which may have their own parameters."""
    if dependant is not None:
        yield dependant
        for dependency in dependant.dependencies:
            yield from _walk_dependants(dependency)


def _schemas(parameters: Sequence[Any]) -> Iterator[tuple[str, Schema]]:
    """The schema of each parameter. A model has one for each of its fields."""
    for parameter in parameters:
        annotation = parameter.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            schema = annotation.model_json_schema()
            yield from ((name, {**own, "$defs": schema.get("$defs", {})}) for name, own in schema["properties"].items())
        else:
            whole: Any = Annotated[(annotation, *(parameter.field_info.metadata or (None,)))]
            yield parameter.alias, TypeAdapter(whole).json_schema()


def _value(schema: Schema, whole: Schema, random: Random, *, now: datetime) -> str:
    if random.random() < WRONG_SHARE:
        return "zq"
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        schema = random.choice([option for option in schema["anyOf"] if option.get("type") != "null"])
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else _values(schema, random, now))
    return str(random.choice(values))


def _values(schema: Schema, random: Random, now: datetime) -> Sequence[str]:
    match schema.get("type"), schema.get("format"):
        case "boolean", _:
            return ("true", "false")
        case (("integer" | "number"), _):
            low, high = int(schema.get("minimum", 0)), int(min(schema.get("maximum", MAX_NUMBER), MAX_NUMBER))
            return [str(min(high, low + random.getrandbits(random.randint(0, 30))))]  # of any magnitude
        case _, "date-time":
            return [(now - timedelta(seconds=random.randrange(14 * 86_400))).isoformat()]
    return [text[: schema.get("maxLength", len(text))] for text in TEXTS]
