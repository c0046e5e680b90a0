"""The OpenAPI document is valid and described completely. It matches the permissions and errors of the service."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

from api.openapi.pages import describe_type
from deploy.documentation.operations import openapi
from tests.api.conftest import API, Service

DOCUMENT = openapi()
OPERATIONS = [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]
EXAMPLES = {"study_id": "1", "submission_id": "k3_wpq8Zr1Ya", "kind": "public", "role": "train"}
OTHERWISE_REFUSED = {"/metrics", f"{API}/session/passkey-options", f"{API}/session/second-factor"}
"""Paths that require the operator's token or a started sign-in."""
MAX_PAGE = 1000
SCALARS = {"string", "integer", "number", "boolean"}
WHOLES = {
    "UnfinishedJobs",
    "BatchView",
    "CampaignView",
    "CaseView",
    "ChecklistView",
    "CompetitionView",
    "ReviewEntryView",
    "EvidenceView",
    "FigureView",
    "GeneratorView",
    "KeySetView",
    "ReleaseView",
    "RetuningView",
    "SecondFactorsView",
    "StorageView",
    "StudyView",
    "SubmissionView",
    "SwitchPreview",
    "TeamView",
    "BoardUncertainty",
    "accounts.download_own_data",
}
"""Responses with all parts of one object, or with the first pages of lists that other operations page."""


def operations() -> Iterator[dict[str, Any]]:
    for method, path in OPERATIONS:
        yield DOCUMENT["paths"][path][method]


def test_is_valid() -> None:
    validate(DOCUMENT)


def test_operations_have_short_unique_names() -> None:
    names = [operation["operationId"] for operation in operations()]
    assert len(set(names)) == len(names)
    assert {"submissions.submit", "submissions.list", "submissions.get", "leaderboard.get"} <= set(names)
    assert all(re.fullmatch(r"[a-z_]{3,20}\.[a-z_]{2,25}", name) for name in names)


def test_operations_and_parameters_are_described() -> None:
    for operation in operations():
        assert operation["description"], operation["operationId"]
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), (operation["operationId"], parameter["name"])


def test_summaries_are_short_and_distinguish_operations() -> None:
    """Lists of operations and generated clients show them. Operations by rating link have the same summary."""
    operations_by_summary: dict[str, str] = {}
    for operation in operations():
        name = operation["operationId"].removesuffix("_by_link")
        assert operation["description"].replace("\n", " ").startswith(operation["summary"]), name
        assert operations_by_summary.setdefault(operation["summary"], name) == name
        assert len(operation["summary"]) <= 120, name


def test_every_json_body_has_an_example_that_its_schema_accepts() -> None:
    bodies = [operation["requestBody"]["content"] for operation in operations() if "requestBody" in operation]
    named = {body["application/json"]["schema"]["$ref"].rpartition("/")[2] for body in bodies if "$ref" in str(body)}
    assert len(named) > 40
    schemas = DOCUMENT["components"]["schemas"]
    assert sorted(name for name in named if "examples" not in schemas[name]) == []
    for name in named:
        for example in schemas[name]["examples"]:
            jsonschema.validate(example, {**schemas[name], "components": DOCUMENT["components"]})


def answers_with_lists() -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Yield every GET with a list of objects in its JSON: the operation, a name and the schema. The name is that of
    the schema or, without one, of the operation."""
    for methods in DOCUMENT["paths"].values():
        operation = methods.get("get", {"responses": {}})
        content = operation["responses"].get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        name = schema.get("$ref", "").rpartition("/")[2]
        schema = DOCUMENT["components"]["schemas"].get(name, schema)
        parts = [schema, *schema.get("properties", {}).values(), schema.get("additionalProperties")]
        arrays = [part for part in parts if isinstance(part, dict) and part.get("type") == "array"]
        if any(array["items"].get("type") not in SCALARS for array in arrays):
            yield operation, name or operation["operationId"], schema


def test_every_list_is_paged_with_the_same_parameters() -> None:
    """A GET that returns a list has the parameters ``after`` and ``limit`` and the field ``next_after``. Other
    responses with lists are one object with its parts."""
    wholes = set()
    for operation, name, schema in answers_with_lists():
        asked = {
            parameter["name"]: parameter["schema"]
            for parameter in operation.get("parameters", ())
            if parameter["in"] == "query"
        }
        if "next_after" not in schema.get("properties", {}):
            assert name in WHOLES, f"{operation['operationId']} returns a list that cannot be paged"
            wholes.add(name)
            continue
        assert {option["type"] for option in schema["properties"]["next_after"]["anyOf"]} == {"integer", "null"}
        assert "next_after" in schema["required"], name
        assert "integer" in str(asked["after"]), operation["operationId"]
        assert asked["limit"]["maximum"] <= MAX_PAGE, operation["operationId"]
    assert wholes == WHOLES


def test_every_described_response_is_used() -> None:
    used = {answer.get("$ref") for operation in operations() for answer in operation["responses"].values()}
    assert {f"#/components/responses/{name}" for name in DOCUMENT["components"]["responses"]} == used - {None}


def test_schemas_have_plain_names() -> None:
    assert not [name for name in DOCUMENT["components"]["schemas"] if not name.isalnum()]
    assert "HTTPValidationError" not in DOCUMENT["components"]["schemas"]


def test_files_are_described() -> None:
    """Uploads have a body. Responses have a schema, except those to HEAD."""
    for method, path in OPERATIONS:
        operation = DOCUMENT["paths"][path][method]
        for status, answer in operation["responses"].items():
            contents = answer.get("content", {}).values()
            if status.startswith("2") and status != "204" and method != "head":
                assert contents, operation["operationId"]
            assert all(content.get("schema") is not None for content in contents)
    submit = DOCUMENT["paths"][f"{API}/competitions/{{slug}}/submissions"]["post"]
    assert submit["requestBody"]["content"]["application/octet-stream"]["schema"]["format"] == "binary"


def test_callers_authenticate_with_a_token_or_a_session() -> None:
    schemes = DOCUMENT["components"]["securitySchemes"]
    assert {name for operation in operations() for way in operation["security"] for name in way} == schemes.keys()
    assert (schemes["token"]["type"], schemes["token"]["scheme"]) == ("http", "bearer")
    assert (schemes["session"]["type"], schemes["session"]["in"]) == ("apiKey", "cookie")
    by_token = [operation for operation in operations() if {"token": []} in operation["security"]]
    assert all(any("session" in way for way in operation["security"]) for operation in by_token)


def test_anonymous_callers_are_refused_as_documented(service: Service) -> None:
    service.competition()
    for method, path in OPERATIONS:
        filled = re.sub(r"\{(\w+)\}", lambda part: EXAMPLES.get(part[1], "dogs" if part[1] == "slug" else "1"), path)
        answer = service.http.request(method, filled, headers={"Tus-Resumable": "1.0.0", "Upload-Length": "1"})
        security = DOCUMENT["paths"][path][method]["security"]
        asks_who = bool(security) and {} not in security
        assert path in OTHERWISE_REFUSED or asks_who == (answer.status_code == 401), (method, path, answer.status_code)


@pytest.mark.parametrize(
    ("method", "path", "who", "body", "status"),
    [
        ("GET", "/competitions/unknown", None, None, 404),
        ("GET", "/me", None, None, 401),
        ("POST", "/competitions", "ada", {"slug": "mine"}, 403),
        ("POST", "/session", None, {"handle": "ada"}, 422),
        ("GET", "/competitions/dogs/leaderboard?limit=-1", None, None, 422),
        ("POST", "/competitions/dogs/submissions", "ada", {}, 422),
        ("POST", "/competitions/dogs/publication", "organizer", {"published": True, "reason": "It is over."}, 409),
    ],
)
def test_errors_match_their_description(
    service: Service, method: str, path: str, who: str | None, body: dict[str, Any] | None, status: int
) -> None:
    service.competition(slug="dogs")
    answer = service.call(who, method, path, json=body)
    operation = next(
        operations[method.lower()]
        for template, operations in DOCUMENT["paths"].items()
        if method.lower() in operations
        and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), f"{API}{path.partition('?')[0]}")
    )
    assert answer.status_code == status, answer.text
    name = operation["responses"][str(status)]["$ref"].rpartition("/")[2]
    component = DOCUMENT["components"]["responses"][name]
    assert answer.headers["content-type"] in component["content"]
    jsonschema.validate(answer.json(), DOCUMENT["components"]["schemas"]["Problem"])
    assert f"`{answer.json()['type'].rpartition(':')[2]}`" in component["description"]


def test_the_page_shows_every_operation_and_schema(service: Service) -> None:
    answer = service.http.get("/api-reference")
    assert answer.status_code == 200
    for operation in operations():
        assert f'id="{operation["operationId"]}"' in answer.text
    schemas = DOCUMENT["components"]["schemas"]
    assert all(f'id="{name}"' in answer.text for name, schema in schemas.items() if "properties" in schema)
    linked = set(re.findall(r'href="#([^"]+)"', answer.text))
    assert linked <= set(re.findall(r'id="([^"]+)"', answer.text))
    again = service.http.get("/api-reference", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


def test_the_introduction_for_language_models_names_existing_paths(service: Service) -> None:
    answer = service.http.get("/llms.txt")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    site = service.app.state.settings.public_url
    assert answer.text.startswith("# Kennel\n\n> ")
    calls = re.findall(r"`([A-Z]+) (/api/v1/[^`]+)`", answer.text)
    assert len(calls) == 7
    assert [call for call in calls if call[0].lower() not in DOCUMENT["paths"].get(call[1], {})] == []
    linked = [address.removeprefix(site) for address in re.findall(r"\]\(([^)]+)\)", answer.text)]
    assert {address: service.http.get(address).status_code for address in linked} == dict.fromkeys(linked, 200)
    assert len(linked) == 3


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/components/schemas/TeamView"}, "TeamView"),
        ({"type": "array", "items": {"type": "string"}}, "list of string"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"enum": ["public", "private"]}, "“public”, “private”"),
        ({"const": "put"}, "“put”"),
        ({"type": "string", "format": "date-time"}, "date-time"),
        ({"type": "string", "format": "binary"}, "file"),
        ({}, "anything"),
    ],
)
def test_types_in_words(schema: dict[str, Any], words: str) -> None:
    assert describe_type(schema) == words
