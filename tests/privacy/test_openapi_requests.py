"""Whatever is sent to an operation of the OpenAPI document, in whatever role, is answered as the document says."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.privacy.canaries import PEOPLE, ROLES
from tests.privacy.crawler import requests_of, routes_of
from tests.privacy.environment import Environment
from tests.privacy.openapi_requests import OpenApiRequest, requests_from
from tests.privacy.requests import csrf_token_of

MAX_SECONDS = 30.0
"""For an answer on a machine with other work; on a quiet one most take milliseconds."""

MIN_ACCEPTED = 100
MIN_LONG_LISTS = 14


class AnswersOfDocument:
    """The answers that an OpenAPI document promises."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._paths, self._components = document["paths"], document["components"]
        self._validators: dict[str, Draft202012Validator] = {}

    def fault_of(self, request: OpenApiRequest, answer: Any) -> str | None:
        """What is not as promised of an answer: its status, its media type, or its JSON; None if all is."""
        promised = self._paths[request.template][request.method.lower()]["responses"].get(str(answer.status_code))
        if promised is None:
            return "no such status in the document"
        if "$ref" in promised:
            promised = self._components["responses"][promised["$ref"].rpartition("/")[2]]
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        content = promised.get("content", {})
        if answer.content and media_type not in content:
            return f"{media_type} is not promised"
        if not answer.content or not media_type.endswith("json"):
            return None
        error = next(self._validator_of(content[media_type]["schema"]).iter_errors(answer.json()), None)
        return None if error is None else f"{error.json_path}: {error.message}"

    def _validator_of(self, schema: Mapping[str, Any]) -> Draft202012Validator:
        key = json.dumps(schema)
        if key not in self._validators:
            self._validators[key] = Draft202012Validator({**schema, "components": self._components})
        return self._validators[key]


@pytest.mark.heavy
@pytest.mark.timeout(1200)
def test_no_request_of_any_role_breaks_an_operation(world: Environment) -> None:
    document = world.app.openapi()
    answers = AnswersOfDocument(document)
    broken, accepted = [], 0
    for seed, role in enumerate(ROLES):
        for request in requests_from(document, world.planted, seed=seed):
            begun = time.monotonic()
            answer = _answer_to(world, role, request)
            if (fault := answers.fault_of(request, answer)) is not None:
                broken.append(f"{role}, seed {seed}: {request}: {answer.status_code}, {fault}")
            accepted += answer.is_success
            assert time.monotonic() - begun < MAX_SECONDS, request
    assert not broken, "\n".join(broken)
    assert accepted > MIN_ACCEPTED, "requests are not only nonsense"


def _answer_to(world: Environment, role: str, request: OpenApiRequest) -> Any:
    headers = {"Accept": "*/*"}
    if role in PEOPLE:
        headers |= {"Cookie": f"kennel=session-of-{role}", "X-CSRF-Token": csrf_token_of(role)}
    options: dict[str, Any] = {"params": request.query, "headers": headers}
    if request.has_body:
        options |= {"content": json.dumps(request.body), "headers": headers | {"Content-Type": "application/json"}}
    try:
        if request.method == "GET":
            return world.http.request(request.method, request.path, **options)
        with world.undone():
            return world.http.request(request.method, request.path, **options)
    finally:
        world.http.cookies.clear()


@pytest.mark.heavy
def test_every_list_is_the_same_row_by_row(world: Environment) -> None:
    """What pages of one row make is the list, in its order."""
    long_lists = set()
    for route in routes_of(world.app):
        if route.method == "GET" and route.path.startswith("/api/") and {"after", "limit"} <= set(route.queries):
            for role in ("insider", "admin"):
                for request in requests_of(route, world.planted):
                    whole = next(_pages(world, role, str(request), limit=100))
                    if whole is not None and whole["next_after"] is None:
                        long_lists |= {route.path} if _is_the_same_by_pages(world, role, str(request), whole) else set()
    assert len(long_lists) >= MIN_LONG_LISTS, sorted(long_lists)


def _is_the_same_by_pages(world: Environment, role: str, request: str, whole: Mapping[str, Any]) -> bool:
    """Whether there was more than one page."""
    pages = list(_pages(world, role, request, limit=1))
    (name,) = {name for name, value in pages[0].items() if isinstance(value, list) and whole[name] != value} or {""}
    if name:
        assert [row for page in pages for row in page[name]] == whole[name], request
        assert all(len(page[name]) == 1 for page in pages), request
    return len(pages) > 1


def _pages(world: Environment, role: str, request: str, *, limit: int) -> Iterator[Any]:
    """The pages of a list; None if it is not for this role."""
    headers = {"Cookie": f"kennel=session-of-{role}"} if role in PEOPLE else {}
    address = request.partition(" ")[2]
    address += f"{'&' if '?' in address else '?'}limit={limit}"
    after: int | None = None
    while True:
        answer = world.http.get(address if after is None else f"{address}&after={after}", headers=headers)
        if not answer.is_success or "json" not in answer.headers["content-type"]:
            yield None
            return
        yield answer.json()
        after = answer.json()["next_after"]
        if after is None:
            return
