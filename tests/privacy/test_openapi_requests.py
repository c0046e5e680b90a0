"""Every operation of the OpenAPI document answers any request in any role as documented."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from itertools import cycle
from typing import Any

import httpx2
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.privacy.canaries import PEOPLE, ROLES
from tests.privacy.crawler import build_requests, walk_routes
from tests.privacy.environment import Environment
from tests.privacy.openapi_requests import generate_cases, load_operations
from tests.privacy.requests import make_csrf_token

MAX_SECONDS = 30.0
"""Limit for an answer on a busy machine. On an idle one, most take milliseconds."""

SEED, EXAMPLES = 1, 3
MANY_EXAMPLES = 10
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
MIN_ACCEPTED = 100
MIN_LONG_LISTS = 14


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("examples", [EXAMPLES, pytest.param(MANY_EXAMPLES, marks=pytest.mark.slow)])
def test_every_operation_answers_every_role_as_documented(world: Environment, examples: int) -> None:
    """No answer is a server error, and every status, media type and JSON body is documented.

    The first example of an operation, which is the simplest, is sent in every role. With few examples, the other ones
    are sent in one role each, in turn.
    """
    broken: dict[str, list[str]] = defaultdict(list)
    statuses: Counter[int] = Counter()
    turns = cycle(ROLES)
    sent: list[Case[Any]] = []
    for operation in load_operations(world.app):
        sent.clear()

        @seed(f"{SEED} {operation.label}")
        @settings(
            max_examples=examples,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(generate_cases(operation, world.planted))
        def send_in_roles(case: Case[Any]) -> None:
            roles = [next(turns)] if sent and examples == EXAMPLES else ROLES
            sent.append(case)
            for role in roles:
                answer = _answer_to(world, role, case)
                statuses[answer.status_code] += 1
                for fault in _find_faults(case, answer):
                    broken[fault].append(role)

        send_in_roles()
    assert not broken, "\n".join(f"{', '.join(roles)}: {fault}" for fault, roles in broken.items())
    accepted = sum(count for status, count in statuses.items() if status < 300)
    assert accepted > MIN_ACCEPTED, "enough requests are accepted"


def _answer_to(world: Environment, role: str, case: Case[Any]) -> httpx2.Response:
    """The answer to exactly the bytes that schemathesis makes from a case."""
    headers = {"Accept": "*/*"}
    if role in PEOPLE:
        headers |= {"Cookie": f"kennel=session-of-{role}", "X-CSRF-Token": make_csrf_token(role)}
    made: Any = requests.Request(**case.as_transport_kwargs(str(world.http.base_url), headers)).prepare()
    sent = world.http.build_request(
        made.method,
        made.url,
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in made.headers.items()],
        content=made.body,
    )
    begun = time.monotonic()
    with world.undone() if case.method != "GET" else nullcontext():
        answer = world.http.send(sent)
    world.http.cookies.clear()
    assert time.monotonic() - begun < MAX_SECONDS, case
    return answer


def _find_faults(case: Case[Any], answer: httpx2.Response) -> Iterator[str]:
    is_stream = answer.headers.get("Content-Type", "").startswith("text/event-stream")
    # schemathesis checks each event of a stream against the schema of the whole stream.
    checks = CHECKS if is_stream else [*CHECKS, response_schema_conformance]
    try:
        case.validate_response(answer, checks=checks)
    except FailureGroup as group:
        for fault in group.exceptions:
            yield f"{case.as_curl_command()}: {answer.status_code}, {fault}"


def test_every_list_is_the_same_row_by_row(world: Environment) -> None:
    """Pages with one row each add up to the list, in the same order."""
    long_lists = set()
    for route in walk_routes(world.app):
        if route.method == "GET" and route.path.startswith("/api/") and {"after", "limit"} <= set(route.queries):
            for role in ("insider", "admin"):
                for request in build_requests(route, world.planted):
                    whole = next(_pages(world, role, str(request), limit=100))
                    if whole is not None and whole["next_after"] is None:
                        long_lists |= {route.path} if _is_the_same_by_pages(world, role, str(request), whole) else set()
    assert len(long_lists) >= MIN_LONG_LISTS, sorted(long_lists)


def _is_the_same_by_pages(world: Environment, role: str, request: str, whole: Mapping[str, Any]) -> bool:
    """Compare pages with one row each to the whole list. Returns whether there is more than one page."""
    pages = list(_pages(world, role, request, limit=1))
    (name,) = {name for name, value in pages[0].items() if isinstance(value, list) and whole[name] != value} or {""}
    if name:
        assert [row for page in pages for row in page[name]] == whole[name], request
        assert all(len(page[name]) == 1 for page in pages), request
    return len(pages) > 1


def _pages(world: Environment, role: str, request: str, *, limit: int) -> Iterator[Any]:
    """The pages of a list. None if this role may not read it."""
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
