"""The client's methods for organizers, held to the API's document: what they send, what they return, and that none is
missing."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

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
"""Parameters of lists, which methods return whole."""
ELSEWHERE = {
    "POST /admin/accounts": "refuses the client's token: needs a session",
    "PUT /accounts/{handle}/role": "refuses the client's token: needs a session",
    "GET /competitions/{slug}/gallery": "pictures of pages",
    "GET /competitions/{slug}/gallery/{submission_id}": "pictures of pages",
    "GET /competitions/{slug}/leaderboard/versions": "on the page of a board",
    "GET /competitions/{slug}/releases/{release_id}/files/images/{name}": "`releases.download`: a name with a folder",
    "GET /ratings/{study_id}/items": "raters rate on a page",
    "POST /ratings/{study_id}/items": "raters rate on a page",
    "GET /ratings/{study_id}/items/{item_id}/picture": "raters rate on a page",
    "POST /submissions/{submission_id}/cancel": "what a team does",
    "GET /submissions/{submission_id}/generator": "`kennel generator`",
    "GET /submissions/{submission_id}/generator/pairs/{group}": "pictures of pages",
    "POST /submissions/{submission_id}/rebuttals": "what a team does",
    "GET /submissions/{submission_id}/shared-images/{other_ref}": "pictures of pages",
    "GET /submissions/{submission_id}/sprite": "pictures of pages",
}
"""What is answered otherwise to reviewers, organizers or admins, and needs no method of ``client.admin``."""
BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern"})
NOT_SENT = {
    "data_files.offer source": "`body` is the default",
    "team_lists.list format": "a file for spreadsheets",
    "thresholds.retune preview": "`preview` asks for the impact, which only reads",
    "thresholds.show_impact previous": "for a page that shows what an earlier choice has changed",
    "thresholds.list_impact previous": "for a page that shows what an earlier choice has changed",
}
METHODS = {
    f"{noun}.{name}": (type(methods), method)
    for noun, methods in vars(Admin(ApiClient("http://nowhere"))).items()
    for name, method in vars(type(methods)).items()
    if isinstance(method, Method)
}


class DocumentedService:
    """Takes the steps of operations: holds each request to the document, and answers what the document says."""

    def __init__(self) -> None:
        self.asked: dict[str, Mapping[str, Any]] = {}
        """The operations of the document that were asked, by method and path."""
        self.sent: dict[str, set[Any]] = defaultdict(set)
        """The values of each parameter and field of a body, by operationId and name."""

    def run(self, operation: Operation[Any]) -> Any:
        """The result of an operation."""
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
        """An answer that fits the document, to a request that does."""
        path, operation, given = documented(request.method, request.path)
        self.asked[f"{request.method} {path}"] = operation
        given |= request.params or {}
        schemas = {each["name"]: each["schema"] for each in operation.get("parameters", ())}
        body = operation.get("requestBody", {}).get("content", {})
        if "application/json" in body:
            require_valid(body["application/json"]["schema"], request.json)
            given |= request.json
        else:
            assert request.json is None
            assert request.content is None or body, "the API wants no file"
            for name, value in given.items():
                require_valid(schemas[name], converted(value, schemas[name]))
        for name, value in given.items():
            self.sent[f"{operation['operationId']} {name}"].add(str(value))
        return sample(answer_schema(operation))


def documented(method: str, path: str) -> tuple[str, Mapping[str, Any], dict[str, Any]]:
    """The document's operation for a request: its path, itself, and the parameters in the path."""
    for template, operations in DOCUMENT["paths"].items():
        match = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template), API + path)
        if match and method.lower() in operations:
            return template.removeprefix(API), operations[method.lower()], match.groupdict()
    raise AssertionError(f"the API has no {method} {path}")


def answer_schema(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of what an operation answers; empty if that is no JSON."""
    content = [each.get("content", {}) for status, each in operation["responses"].items() if status[0] == "2"]
    schema: Mapping[str, Any] = content[0].get("application/json", {}).get("schema", {})
    return schema


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself, in place of a reference to it."""
    found: Mapping[str, Any] = SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def without_bounds(part: Any) -> Any:
    """A part of the document that takes numbers and texts of any size."""
    if isinstance(part, dict):
        return {name: without_bounds(each) for name, each in part.items() if name not in BOUNDS}
    return [without_bounds(each) for each in part] if isinstance(part, list) else part


UNBOUNDED = without_bounds(DOCUMENT["components"])


def require_valid(schema: Mapping[str, Any], value: Any) -> None:
    """Raises what does not fit."""
    Draft202012Validator({**without_bounds(schema), "components": UNBOUNDED}).validate(value)


def converted(value: Any, schema: Mapping[str, Any]) -> Any:
    """A parameter as JSON, where a path or query has text."""
    convert: dict[str, Callable[[Any], Any]] = {
        "integer": int,
        "number": float,
        "boolean": lambda text: text in {True, "true"},
    }
    return convert[schema["type"]](value) if schema.get("type") in convert else value


def sample(schema: Mapping[str, Any], field: str = "") -> Any:
    """An answer that fits a schema: the last page of a list, work that is done."""
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


def values_of(kind: Any, file: Path) -> list[Any]:
    """Arguments of a type: every one of a literal's, and None where it may be."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        is_file = PathLike[str] in inner or Path in inner
        return [file] if is_file else [value for each in inner for value in values_of(each, file)]
    if origin is Literal:
        return list(inner)
    if origin is Sequence:
        return [[each] for each in values_of(inner[0], file)]
    if origin is Mapping:
        return [{"train": each} for each in values_of(inner[1], file)]
    if is_typeddict(kind):
        return [{name: values_of(each, file)[0] for name, each in get_type_hints(kind).items()}]
    plain: dict[Any, list[Any]] = {str: ["dogs"], int: [7], float: [0.5], bool: [True, False], type(None): [None]}
    plain |= {datetime: [datetime(2026, 3, 1, tzinfo=UTC)]}
    several: dict[Any, list[Any]] = {Callable: [lambda _: None], list: [[]], dict: [{}]}
    return plain[kind] if kind in plain else several[origin]


def calls_of(method: Method[..., Any], file: Path) -> Iterator[dict[str, Any]]:
    """Arguments for a call, and for others in which one argument after the other has each of its other values."""
    values = {name: values_of(kind, file) for name, kind in get_type_hints(method.steps).items() if name != "return"}
    first = {name: each[0] for name, each in values.items()}
    yield first
    yield from (first | {name: value} for name, each in values.items() for value in each[1:])


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DocumentedService]:
    """What each method has asked of a service."""
    file = tmp_path_factory.mktemp("sent") / "file.zip"
    file.write_bytes(b"bytes")
    asked = {}
    for name, (kind, method) in METHODS.items():
        asked[name] = DocumentedService()
        for arguments in calls_of(method, file):
            getattr(kind(asked[name]), name.partition(".")[2])(**arguments)
    return asked


def test_methods_return_the_types_that_the_document_says(services: dict[str, DocumentedService]) -> None:
    wrong = {}
    for name, service in services.items():
        declared = METHODS[name][1].signature.return_annotation
        schema = answer_schema(list(service.asked.values())[-1])
        if declared not in (Path, list[Path]) and name != "references.prepare" and not fits(declared, schema):
            wrong[name] = (declared, schema)
    assert wrong == {}


def fits(declared: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a type is that of an answer, or of the items of one of its lists."""
    if get_origin(declared) is list:
        (item,) = get_args(declared)
        lists = [schema, *resolved(schema).get("properties", {}).values()]
        return any(fits(item, each["items"]) for each in lists if each.get("items"))
    if get_origin(declared) in (Union, UnionType):
        return all(map(fits, get_args(declared), schema["anyOf"]))
    return bool(schema.get("$ref", "").endswith(f"/{declared.__name__}")) if schema else declared is None


def test_whatever_the_api_takes_can_be_given(services: dict[str, DocumentedService]) -> None:
    sent: dict[str, set[Any]] = defaultdict(set)
    for service in services.values():
        for name, values in service.sent.items():
            sent[name] |= values
    missing = []
    operations = {each["operationId"]: each for service in services.values() for each in service.asked.values()}
    for operation in operations.values():
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        fields = dict(resolved(body).get("properties", {}))
        fields |= {each["name"]: each["schema"] for each in operation.get("parameters", ()) if each["in"] != "header"}
        for name, schema in fields.items():
            place = f"{operation['operationId']} {name}"
            options = {option for each in schema.get("anyOf", [schema]) for option in each.get("enum", ())}
            if not (place in sent or name in PAGING) or not options <= sent[place]:
                missing.append(place)
    assert sorted(missing) == sorted(NOT_SENT)


def test_every_act_of_reviewers_organizers_and_admins_has_a_method(services: dict[str, DocumentedService]) -> None:
    offered = {name for service in services.values() for name in service.asked}
    theirs = set()
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
                theirs.add(f"{method} {path.removeprefix(API)}")
    assert theirs - offered == set(ELSEWHERE)
