"""The crawler finds one planted leak of each kind."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi import APIRouter, HTTPException, Response
from sqlalchemy import func, select

from api.http.dependencies import CurrentViewer, DbSession
from api.http.etags import compute_etag
from scorer.db.tables import Account, CodeAttachment, Job, Measurement, Submission, Threshold, Track
from tests.privacy import crawler as walking
from tests.privacy.canaries import ROLES
from tests.privacy.crawler import (
    Route,
    UnknownRoute,
    build_requests,
    crawl,
    differences,
    distinguishable_answers,
    fetch_answers,
    walk_routes,
)
from tests.privacy.environment import Environment, change_private_data

leaky = APIRouter()
PRIVATE = select(Measurement).join(Track).where(Track.kind == "private").order_by(Measurement.id).limit(1)


@leaky.get("/leak/json")
def in_json(session: DbSession) -> dict[str, Any]:
    """A private score, rounded."""
    return {"score": round(session.scalars(PRIVATE).one().fid, 2)}


@leaky.get("/leak/page")
def on_a_page(session: DbSession) -> Response:
    """A private distance, as pages round."""
    return Response(f"<td>{session.scalars(PRIVATE).one().memorization_distance:.4f}</td>", media_type="text/html")


@leaky.get("/leak/signed")
def in_a_signature(session: DbSession) -> dict[str, str]:
    """A private score that is only in the payload of a signature, as in a receipt."""
    payload = json.dumps({"fid": session.scalars(PRIVATE).one().fid})
    parts = ('{"alg":"Ed25519"}', payload, "signature")
    return {"jws": ".".join(urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts)}


@leaky.get("/leak/header")
def in_a_header(session: DbSession) -> Response:
    """A private threshold."""
    tau = session.scalars(select(Threshold.tau).join(Track).where(Track.kind == "private")).first()
    return Response(headers={"X-Tau": str(tau)})


@leaky.get("/leak/error")
def in_an_error(session: DbSession) -> None:
    """The blob key of another team's code."""
    raise HTTPException(404, f"no blob {session.scalars(select(CodeAttachment.blob_key)).one()}")


@leaky.get("/leak/crash")
def in_a_crash() -> None:
    """A server error."""
    raise RuntimeError


@leaky.get("/leak/mail")
def of_a_person(session: DbSession, viewer: CurrentViewer) -> list[str | None]:
    """The email addresses of all accounts."""
    return list(session.scalars(select(Account.email)))


@leaky.get("/leak/etag")
def in_an_etag(session: DbSession) -> Response:
    """Contains nothing private, but changes with private data."""
    return Response(headers={"ETag": compute_etag(session.scalar(select(func.sum(Measurement.fid))))})


@leaky.get("/leak/rank")
def in_an_order(session: DbSession) -> list[int]:
    """Teams in the order of their private scores, without numbers."""
    ordered = select(Submission.team_id).join(Measurement).join(Track).where(Track.kind == "private")
    return list(session.scalars(ordered.order_by(Measurement.fid)))


@leaky.get("/leak/queue")
def in_the_queue(session: DbSession) -> int:
    """The number of waiting jobs, including private ones."""
    return session.scalar(select(func.count(Job.id)).where(Job.state == "waiting")) or 0


@leaky.get("/leak/{submission_id}/exists")
def by_an_id(submission_id: str, session: DbSession) -> None:
    """Whether an id exists."""
    known = session.scalar(select(Submission.ref).where(Submission.id == submission_id))
    raise HTTPException(403 if known else 404, "No.")


@leaky.post("/leak/no-example")
def without_an_example(session: DbSession) -> None:
    """A route without an example."""


@leaky.get("/leak/{thing}/no-example")
def with_an_unknown_parameter(thing: str) -> str:
    """A route with an unknown parameter."""
    return thing


@contextmanager
def only(monkeypatch: pytest.MonkeyPatch, path: str) -> Iterator[None]:
    """Limit crawls to one route."""
    with monkeypatch.context() as patch:
        patch.setattr(walking, "walk_routes", lambda app: [route for route in walk_routes(app) if route.path == path])
        yield


@pytest.fixture(scope="module")
def leaking(world: Environment) -> Environment:
    """The environment with the leaks in its application."""
    world.app.include_router(leaky)
    return world


@pytest.mark.parametrize(
    ("path", "where", "secret"),
    [
        ("/leak/json", "body", "private-fid-own"),
        ("/leak/page", "body", "private-distance-own"),
        ("/leak/signed", "body", "private-fid-own"),
        ("/leak/header", "headers", "private-tau"),
        ("/leak/error", "body", "code-key"),
        ("/leak/mail", "body", "mail-insider"),
    ],
)
def test_a_value_is_found(
    leaking: Environment, monkeypatch: pytest.MonkeyPatch, path: str, where: str, secret: str
) -> None:
    with only(monkeypatch, path):
        leaks = crawl(leaking).leaks
    assert {("outsider", where), ("visitor", where)} <= {(leak.role, leak.where) for leak in leaks}
    assert secret in {leak.secret for leak in leaks}


def test_a_server_error_is_found(leaking: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    with only(monkeypatch, "/leak/crash"):
        assert len(crawl(leaking).broken) == len(ROLES)


@pytest.mark.parametrize("path", ["/leak/etag", "/leak/rank", "/leak/queue"])
def test_an_answer_that_depends_on_private_data_is_found(
    leaking: Environment, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with only(monkeypatch, path):
        before = fetch_answers(leaking, ["visitor"])
        assert not differences(before, fetch_answers(leaking, ["visitor"]))
        try:
            with leaking.rewriting() as session:
                change_private_data(session)
            assert len(differences(before, fetch_answers(leaking, ["visitor"]))) == 1
        finally:
            leaking.restore()


def test_an_id_that_reveals_something_is_found(leaking: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    with only(monkeypatch, "/leak/{submission_id}/exists"):
        assert all("403 and 404" in line for line in distinguishable_answers(leaking, ["visitor"]))
        assert len(distinguishable_answers(leaking, ["visitor"])) == 4


@pytest.mark.parametrize("path", ["/leak/no-example", "/leak/{thing}/no-example"])
def test_a_route_without_an_example_is_found(leaking: Environment, path: str) -> None:
    (route,) = [found for found in walk_routes(leaking.app) if found.path == path]
    with pytest.raises(UnknownRoute, match=r"(example\. Add one|add values for thing) to tests"):
        list(build_requests(route, leaking.planted))


def test_a_route_that_nobody_can_use_is_found(leaking: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    with only(monkeypatch, "/leak/error"):
        assert crawl(leaking).unused == ["GET /leak/error: [404]"]


def test_the_crawler_knows_every_route(world: Environment) -> None:
    documented = {
        Route(method.upper(), path, ()).path
        for path, methods in world.app.openapi()["paths"].items()
        for method in methods
    }
    walked = {route.path for route in walk_routes(world.app)}
    assert documented <= walked
    assert {"/", "/submissions/{submission_id}", "/static/{name}"} <= walked - documented


def test_the_crawler_knows_every_query_parameter(world: Environment) -> None:
    """Including the fields of a model, and the parameters of dependencies."""
    walked = {(route.method.lower(), route.path): set(route.queries) for route in walk_routes(world.app)}
    for path, methods in world.app.openapi()["paths"].items():
        for method, operation in methods.items():
            own = walked[method, path]
            needed = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"}
            assert needed <= own, (method, path)
    assert {"as_of", "late", "track"} <= walked["get", "/competitions/{slug}"]
