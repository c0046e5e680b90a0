"""Whatever is sent to an operation of the OpenAPI document, in whatever role, is answered and is no error of ours."""

import json
import time
from typing import Any

import pytest

from tests.privacy.canaries import PEOPLE, ROLES
from tests.privacy.environment import Environment
from tests.privacy.openapi_requests import OpenApiRequest, requests_from
from tests.privacy.requests import csrf_token_of

MAX_SECONDS = 30.0
"""For an answer on a machine with other work; on a quiet one most take milliseconds."""

MIN_ACCEPTED = 100


@pytest.mark.heavy
@pytest.mark.timeout(1200)
def test_no_request_of_any_role_breaks_an_operation(world: Environment) -> None:
    document = world.app.openapi()
    broken, accepted = [], 0
    for seed, role in enumerate(ROLES):
        for request in requests_from(document, world.planted, seed=seed):
            begun = time.monotonic()
            status = _status(world, role, request)
            if status >= 500 and status != 503:
                broken.append(f"{role}, seed {seed}: {request}: {status}")
            accepted += status < 400
            assert time.monotonic() - begun < MAX_SECONDS, request
    assert broken == []
    assert accepted > MIN_ACCEPTED, "requests are not only nonsense"


def _status(world: Environment, role: str, request: OpenApiRequest) -> int:
    headers = {"Accept": "*/*"}
    if role in PEOPLE:
        headers |= {"Cookie": f"kennel=session-of-{role}", "X-CSRF-Token": csrf_token_of(role)}
    options: dict[str, Any] = {"params": request.query, "headers": headers}
    if request.has_body:
        options |= {"content": json.dumps(request.body), "headers": headers | {"Content-Type": "application/json"}}
    try:
        if request.method == "GET":
            return world.http.request(request.method, request.path, **options).status_code
        with world.undone():
            return world.http.request(request.method, request.path, **options).status_code
    finally:
        world.http.cookies.clear()
