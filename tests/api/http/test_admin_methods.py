"""The client's methods for organizers match the OpenAPI document in requests and responses, and none is missing."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

import httpx
import pytest
from jsonschema import Draft202012Validator

from deploy.documentation.operations import openapi
from kennel_client.admin import Admin
from kennel_client.api import ApiClient
from kennel_client.methods import Method
from kennel_client.steps import Download, LocalWork, Operation, Request
from tests.privacy.access_table import FILE as ACCESS_TABLE

API = "/api/v1"
DOCUMENT = openapi()
SCHEMAS = DOCUMENT["components"]["schemas"]
PAGING = frozenset({"after", "limit"})
"""Parameters of lists. Methods return whole lists."""
ELSEWHERE = {
    "POST /admin/accounts": "refuses the client's token: needs a session",
    "PUT /accounts/{handle}/role": "refuses the client's token: needs a session",
    "GET /competitions/{slug}/gallery": "an image on a page",
    "GET /competitions/{slug}/gallery/{submission_id}": "an image on a page",
    "GET /competitions/{slug}/leaderboard/versions": "shown on a board's page",
    "GET /competitions/{slug}/releases/{release_id}/files/generators/{name}": "`releases.download`",
    "GET /competitions/{slug}/releases/{release_id}/files/images/{name}": "`releases.download`",
    "GET /ratings/{study_id}/items": "raters rate on a page",
    "POST /ratings/{study_id}/items": "raters rate on a page",
    "GET /ratings/{study_id}/items/{item_id}/picture": "raters rate on a page",
    "POST /submissions/{submission_id}/cancel": "for teams",
    "GET /submissions/{submission_id}/generator": "`kennel generator`",
    "GET /submissions/{submission_id}/generator/pairs/{group}": "an image on a page",
    "POST /submissions/{submission_id}/rebuttals": "for teams",
    "GET /submissions/{submission_id}/shared-images/{other_ref}": "an image on a page",
    "GET /submissions/{submission_id}/sprite": "an image on a page",
}
"""Operations for reviewers, organizers or admins that need no method of ``client.admin``, and the reason."""
BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern"})
NOT_SENT = {
    "data_files.offer source": "`body` is the default",
    "team_lists.list format": "a file for spreadsheets",
    "thresholds.retune preview": "`preview` requests the impact, which changes nothing",
    "thresholds.show_impact previous": "for a page that shows the effect of an earlier choice",
    "thresholds.list_impact previous": "for a page that shows the effect of an earlier choice",
}
METHODS = {
    f"{noun}.{name}": (type(methods), method)
    for noun, methods in vars(Admin(ApiClient("http://nowhere"))).items()
    for name, method in vars(type(methods)).items()
    if isinstance(method, Method)
}


class DocumentedService:
    """Runs the steps of operations: validates each request against the document and returns a response from it."""

    def __init__(self) -> None:
        self.asked: dict[str, Mapping[str, Any]] = {}
        """The requested operations of the document, by method and path."""
        self.sent: dict[str, set[Any]] = defaultdict(set)
        """The values of each parameter and body field, by operationId and name."""

    def run(self, operation: Operation[Any]) -> Any:
        """Run an operation and return its result."""
        outcome = None
        try:
            while True:
                step = operation.send(outcome)
                outcome = None
                if isinstance(step, LocalWork):
                    outcome = step.function()
                elif isinstance(step, Download):
                    self.answer(Request("GET", step.path))
                elif isinstance(step, Request):
                    outcome = httpx.Response(200, json=self.answer(step))
        except StopIteration as end:
            return end.value

    def answer(self, request: Request) -> Any:
        """Validate a request and return a response that fits the document."""
        path, operation, given = documented(request.method, request.path)
        self.asked[f"{request.method} {path}"] = operation
        given |= request.params or {}
        schemas = {parameter["name"]: parameter["schema"] for parameter in operation.get("parameters", ())}
        body = operation.get("requestBody", {}).get("content", {})
        if "application/json" in body:
            require_valid(body["application/json"]["schema"], request.json)
            given |= request.json
        else:
            assert request.json is None
            assert request.content is None or body, "the API does not accept a file here"
            for name, value in given.items():
                require_valid(schemas[name], converted(value, schemas[name]))
        for name, value in given.items():
            self.sent[f"{operation['operationId']} {name}"].add(str(value))
        return sample(answer_schema(operation))


def documented(method: str, path: str) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
    """Return the path, the operation and the path parameters of a request in the document."""
    for template, operations in DOCUMENT["paths"].items():
        match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template), API + path)
        if match and method.lower() in operations:
            return template.removeprefix(API), operations[method.lower()], match.groupdict()
    raise AssertionError(f"the API has no {method} {path}")


def answer_schema(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an operation's response, or an empty one if the response is not JSON."""
    content = [response.get("content", {}) for status, response in operation["responses"].items() if status[0] == "2"]
    schema: Mapping[str, Any] = content[0].get("application/json", {}).get("schema", {})
    return schema


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace a reference with its schema."""
    found: Mapping[str, Any] = SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def without_bounds(part: Any) -> Any:
    """Return a part of the document without limits on numbers and texts."""
    if isinstance(part, dict):
        return {name: without_bounds(value) for name, value in part.items() if name not in BOUNDS}
    return [without_bounds(item) for item in part] if isinstance(part, list) else part


UNBOUNDED = without_bounds(DOCUMENT["components"])


def require_valid(schema: Mapping[str, Any], value: Any) -> None:
    """Raise jsonschema's error if a value does not fit."""
    Draft202012Validator({**without_bounds(schema), "components": UNBOUNDED}).validate(value)


def converted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Convert a parameter from the text of a path or query to JSON."""
    convert: dict[str, Callable[[Any], Any]] = {
        "integer": int,
        "number": float,
        "boolean": lambda text: text in {True, "true"},
    }
    return convert[schema["type"]](value) if schema.get("type") in convert else value


def sample(schema: Mapping[str, Any], field: str = "") -> Any:
    """Return a response that fits a schema: the last page of a list, or a finished job."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return None if field.startswith("next_") else sample(schema["anyOf"][0])
    if "enum" in schema:
        return "done" if "done" in schema["enum"] else schema["enum"][-1]
    if "properties" in schema:
        return {name: sample(part, name) for name, part in schema["properties"].items()}
    if schema.get("items"):
        return [sample(schema["items"])]
    return {"integer": 1, "number": 0.5, "boolean": True, "object": {}, "array": []}.get(schema.get("type", ""), "s")


def list_values(kind: Any, file: Path) -> list[Any]:
    """Return arguments of a type: all values of a literal, and None if it is allowed."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        is_file = PathLike[str] in inner or Path in inner
        return [file] if is_file else [value for option in inner for value in list_values(option, file)]
    if origin is Literal:
        return list(inner)
    if origin is Sequence:
        return [[value] for value in list_values(inner[0], file)]
    if origin is Mapping:
        return [{"train": value} for value in list_values(inner[1], file)]
    if is_typeddict(kind):
        fields = {name: list_values(hint, file) for name, hint in get_type_hints(kind).items()}
        most = max(map(len, fields.values()), default=1)
        return [{name: some[min(turn, len(some) - 1)] for name, some in fields.items()} for turn in range(most)]
    plain: dict[Any, list[Any]] = {str: ["dogs"], int: [7], float: [0.5], bool: [True, False], type(None): [None]}
    plain |= {datetime: [datetime(2026, 3, 1, tzinfo=UTC)]}
    several: dict[Any, list[Any]] = {Callable: [lambda _: None], list: [[]], dict: [{}]}
    return plain[kind] if kind in plain else several[origin]


def list_calls(method: Method[..., Any], file: Path) -> Iterator[dict[str, Any]]:
    """Yield arguments for calls: first the default values, then every other value of every argument."""
    hints = get_type_hints(method.steps)
    for name, kind in list(hints.items()):
        if get_origin(kind) is Unpack:
            del hints[name]
            hints |= get_type_hints(get_args(kind)[0])
    values = {name: list_values(kind, file) for name, kind in hints.items() if name != "return"}
    first = {name: options[0] for name, options in values.items()}
    yield first
    yield from (first | {name: value} for name, options in values.items() for value in options[1:])


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DocumentedService]:
    """The service that each method has called, by the method's name."""
    file = tmp_path_factory.mktemp("sent") / "file.zip"
    file.write_bytes(b"bytes")
    asked = {}
    for name, (kind, method) in METHODS.items():
        asked[name] = DocumentedService()
        for arguments in list_calls(method, file):
            getattr(kind(asked[name]), name.partition(".")[2])(**arguments)
    return asked


def test_methods_return_the_documented_types(services: dict[str, DocumentedService]) -> None:
    wrong = {}
    for name, service in services.items():
        declared = METHODS[name][1].signature.return_annotation
        schema = answer_schema(list(service.asked.values())[-1])
        if declared not in (Path, list[Path]) and name != "references.prepare" and not fits(declared, schema):
            wrong[name] = (declared, schema)
    assert wrong == {}


def fits(declared: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a type matches a response's schema, or the items of one of its lists."""
    if get_origin(declared) is list:
        (item,) = get_args(declared)
        lists = [schema, *resolved(schema).get("properties", {}).values()]
        return any(fits(item, array["items"]) for array in lists if array.get("items"))
    if get_origin(declared) in (Union, UnionType):
        return all(map(fits, get_args(declared), schema["anyOf"]))
    return bool(schema.get("$ref", "").endswith(f"/{declared.__name__}")) if schema else declared is None


def test_methods_accept_every_parameter_and_field_of_the_api(services: dict[str, DocumentedService]) -> None:
    sent: dict[str, set[Any]] = defaultdict(set)
    for service in services.values():
        for name, values in service.sent.items():
            sent[name] |= values
    missing = []
    operations = {
        operation["operationId"]: operation for service in services.values() for operation in service.asked.values()
    }
    for operation in operations.values():
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        fields = dict(resolved(body).get("properties", {}))
        fields |= {
            parameter["name"]: parameter["schema"]
            for parameter in operation.get("parameters", ())
            if parameter["in"] != "header"
        }
        for name, schema in fields.items():
            place = f"{operation['operationId']} {name}"
            options = {
                option for option_schema in schema.get("anyOf", [schema]) for option in option_schema.get("enum", ())
            }
            if not (place in sent or name in PAGING) or not options <= sent[place]:
                missing.append(place)
    assert sorted(missing) == sorted(NOT_SENT)


def test_every_privileged_operation_has_a_method(services: dict[str, DocumentedService]) -> None:
    offered = {name for service in services.values() for name in service.asked}
    privileged = set()
    for line in ACCESS_TABLE.read_text().splitlines():
        if line.startswith("| `"):
            route, _visitor, outsider, _neighbour, reviewer, _insider, organizer, admin = line.strip("| ").split(" | ")
            method, path = route.strip("` ").split()
            refused = set(outsider.split("/")) <= {"403", "404"}
            if (
                method.lower() in DOCUMENT["paths"].get(path, {})
                and refused
                and {reviewer, organizer, admin} != {outsider}
            ):
                privileged.add(f"{method} {path.removeprefix(API)}")
    assert privileged - offered == set(ELSEWHERE)
