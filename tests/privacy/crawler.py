"""Calls every route of an application in every role and searches the answers for canaries."""

import itertools
import re
from base64 import urlsafe_b64decode
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from sqlalchemy import func, select

from scorer.db.tables import AuditEntry
from tests.privacy.canaries import PEOPLE, ROLES, Canaries
from tests.privacy.canary_values import Canary, Leak
from tests.privacy.environment import Environment
from tests.privacy.requests import CALLS, IDS, RouteCall, list_parameters, make_csrf_token, nonexistent_id

SAFE = ("GET", "HEAD", "OPTIONS")
HIDDEN_FROM_EVERYBODY = frozenset(
    {
        "evidence",
        "reference",
        "storage",
        "mail",
        "score",
        "draft",
        "team",
        "code",
        "allowlist",
        "recovery",
        "draw-secret",
    }
)
HIDDEN_KINDS: Mapping[str, frozenset[str]] = {
    "visitor": HIDDEN_FROM_EVERYBODY,
    "outsider": HIDDEN_FROM_EVERYBODY,
    "neighbour": HIDDEN_FROM_EVERYBODY,
    "reviewer": HIDDEN_FROM_EVERYBODY - {"draft"},
    "insider": HIDDEN_FROM_EVERYBODY - {"team"},
    "organizer": frozenset({"storage", "mail", "draw-secret"}),
    "admin": frozenset({"storage", "mail", "draw-secret"}),
}
"""The kinds of secrets that a role must not see before publication."""


NEWEST_ENTRY = select(func.max(AuditEntry.id))
NEW_KEY = re.compile(r"\b[A-Z2-7]{32}\b")
"""The key of an authenticator, which differs on every view of its page."""
SIGNED = re.compile(r"\beyJ[\w-]+\.(?P<payload>[\w-]+)\.[\w-]+")
"""A JWS in compact form, as in receipts."""


@dataclass(frozen=True)
class Route:
    """A method, a path with named parameters, and the names of its query parameters."""

    method: str
    path: str
    queries: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def names(self) -> list[str]:
        """The names of the path's parameters."""
        return [part.split("}")[0].split(":")[0] for part in self.path.split("{")[1:]]

    @property
    def is_safe(self) -> bool:
        """Whether its method changes nothing."""
        return self.method in SAFE


@dataclass(frozen=True)
class RouteRequest:
    """A route with values for its parameters."""

    route: Route
    call: RouteCall
    words: Mapping[str, Any]

    def __str__(self) -> str:
        query = "&".join(f"{name}={self.words[name]}" for name in self.route.queries if name in self.words)
        path = self.route.path
        for name in self.route.names:
            path = path.replace(f"{{{name}}}", str(self.words[name]))
        return f"{self.route.method} {path}" + (f"?{query}" if query else "")

    def with_nonexistent_ids(self) -> "RouteRequest | None":
        """The same request with IDs that do not exist. None if it names no IDs."""
        ids = {name: nonexistent_id(self.words[name]) for name in self.route.names if name in IDS}
        return RouteRequest(self.route, self.call, {**self.words, **ids}) if ids else None


@dataclass(frozen=True)
class RouteAnswer:
    """An answer. ``line`` is the reason phrase of its status line."""

    status: int
    line: str
    headers: str
    body: str
    recorded: bool = field(default=False, compare=False)
    """Whether the request added an entry to the audit log."""

    def without(self, request: RouteRequest) -> "RouteAnswer":
        """The answer without the request's own IDs, which the caller already knows."""
        headers, body = self.headers, self.body
        for name, value in sorted(request.words.items()):
            if name in IDS:
                headers, body = (text.replace(str(value), f"<{name}>") for text in (headers, body))
        return RouteAnswer(self.status, self.line, headers, body)


class UnknownRoute(AssertionError):
    """A route without an example of how to call it."""


def walk_routes(app: FastAPI) -> Iterator[Route]:
    """All routes of an application, inside and outside the OpenAPI document."""
    for context in iter_route_contexts(app.routes):
        needed = _query_parameters(context.dependant) if getattr(context, "dependant", None) else ()
        queries = tuple(sorted({name for parameter in needed for name in _list_query_names(parameter)}))
        for method in sorted(context.methods or ()):
            yield Route(method, context.path or "", queries)


def _query_parameters(dependant: Dependant) -> Iterator[Any]:
    """The query parameters of a route and of its dependencies."""
    yield from dependant.query_params
    for dependency in dependant.dependencies:
        yield from _query_parameters(dependency)


def _list_query_names(parameter: Any) -> Collection[str]:
    """The names of a parameter in a query string. For a model, these are its fields."""
    return getattr(parameter.field_info.annotation, "model_fields", None) or (parameter.alias,)


def build_requests(route: Route, planted: Canaries) -> Iterator[RouteRequest]:
    """All requests of a route, with each query parameter left out or set to other values than its default.

    Raises ``UnknownRoute`` if the route has no example.
    """
    call = CALLS.get(str(route))
    if call is None and not route.is_safe:
        raise UnknownRoute(f"{route} has no example. Add one to tests/privacy/requests.py.")
    call = call or RouteCall()
    words = {**list_parameters(planted), **call.words(planted)}
    missing = [name for name in route.names if name not in words]
    if missing:
        raise UnknownRoute(f"{route}: add values for {', '.join(missing)} to tests/privacy/requests.py.")
    queried = [name for name in route.queries if name in words] if route.method == "GET" else []
    most = 1 if route.method == "HEAD" else None  # it answers like GET, without the body
    choices = [[None, *words[name][1:]] if name in queried else words[name][:most] for name in (*route.names, *queried)]
    for chosen in itertools.product(*choices):
        picked = zip((*route.names, *queried), chosen, strict=True)
        yield RouteRequest(route, call, {name: value for name, value in picked if value is not None})


def send(world: Environment, role: str, request: RouteRequest) -> RouteAnswer:
    """Make a request in a role."""
    arguments = dict(request.call.body(role))
    headers = dict(arguments.pop("headers", {}))
    headers["Accept"] = "*/*" if request.route.path.startswith("/api/") else "text/html"
    if role in PEOPLE and request.call.by_token:
        headers["Authorization"] = f"Bearer token-of-{role}"
    elif role in PEOPLE:
        cookies = [*([headers["Cookie"]] if "Cookie" in headers else []), f"kennel=session-of-{role}"]
        headers |= {"Cookie": "; ".join(cookies), "X-CSRF-Token": make_csrf_token(role)}
    answer = world.http.request(request.route.method, str(request).split(" ", 1)[1], headers=headers, **arguments)
    world.http.cookies.clear()
    sent = sorted(answer.headers.multi_items())
    if answer.content:  # the comparison covers its length, and a response made for the first time has no such header
        sent = [(name, value) for name, value in sent if name != "content-length"]
    lines = "\n".join(f"{name}: {value}" for name, value in sent)
    body = NEW_KEY.sub("<key>", answer.content.decode("latin-1"))
    body += "".join(_signed_texts(body))
    lines, body = (text.replace(answer.headers["X-Request-ID"], "<request>") for text in (lines, body))
    return RouteAnswer(answer.status_code, answer.reason_phrase, lines, body)


def _signed_texts(body: str) -> Iterator[str]:
    """The decoded payloads of signatures in an answer, which every reader can decode."""
    for signed in SIGNED.finditer(body):
        payload = signed["payload"]
        yield urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode("latin-1")


def send_and_restore(world: Environment, role: str, request: RouteRequest) -> RouteAnswer:
    """Make a request in a role and undo its changes."""
    if request.route.is_safe:
        return send(world, role, request)
    with world.undone() as connection:
        before = connection.scalar(NEWEST_ENTRY)
        answer = send(world, role, request)
        return replace(answer, recorded=connection.scalar(NEWEST_ENTRY) != before)


def is_hidden(secret: Canary, role: str, request: RouteRequest, shown: Collection[str]) -> bool:
    """Whether an answer must not contain the secret. ``shown`` are the kinds that everybody may see."""
    kinds = HIDDEN_KINDS[role] - set(shown) - request.call.shows.get(role, frozenset())
    return secret.kind in kinds and secret.owner != role


def leaks_in(request: RouteRequest, answer: RouteAnswer, secrets: Collection[Canary]) -> Iterator[tuple[str, Canary]]:
    """The secrets in an answer, each with its place: status line, headers or body."""
    cleaned = answer.without(request)
    parts = {"status line": cleaned.line.lower(), "headers": cleaned.headers.lower(), "body": cleaned.body.lower()}
    return ((where, secret) for where, text in parts.items() for secret in secrets if secret.is_in(text))


@dataclass
class CrawlResult:
    """The result of a crawl. ``unused`` are routes that no role could use, ``broken`` are server errors."""

    leaks: list[Leak]
    unused: list[str]
    broken: list[str]
    seen: dict[str, set[str]]
    """The names of all secrets that each role saw, allowed or not."""
    statuses: dict[str, dict[str, list[int]]]
    """By route and role, the status of each request in order. The insider's own things come first."""
    recorded: set[str]
    """The routes with a request that added an entry to the audit log."""


def crawl(
    world: Environment,
    *,
    roles: Collection[str] = ROLES,
    shown: Collection[str] = (),
    safe: bool = False,
    known: Mapping[tuple[str, str], RouteAnswer] = MappingProxyType({}),
) -> CrawlResult:
    """Call every route in these roles. With ``safe``, call only routes that change nothing.

    Requests with a ``known`` answer, by role and request, are not repeated.
    """
    done = CrawlResult([], [], [], {role: set() for role in ROLES}, {}, set())
    for route in walk_routes(world.app):
        if safe and not route.is_safe:
            continue
        expected = CALLS.get(str(route), RouteCall()).fails
        statuses = done.statuses.setdefault(str(route), {})
        for request in build_requests(route, world.planted):
            for role in (caller for caller in request.call.roles if caller in roles):
                answer = known.get((role, str(request))) or send_and_restore(world, role, request)
                statuses.setdefault(role, []).append(answer.status)
                if answer.recorded:
                    done.recorded.add(str(route))
                leaks = list(leaks_in(request, answer, world.planted.secrets))
                done.seen[role] |= {secret.name for _, secret in leaks}
                done.leaks += [
                    Leak(role, str(request), where, secret.name)
                    for where, secret in leaks
                    if is_hidden(secret, role, request, shown)
                ]
                if answer.status >= 500 and answer.status != expected:
                    done.broken.append(f"{role}: {request}: {answer.status} {answer.body[:200]}")
        seen = {status for answered in statuses.values() for status in answered}
        if not any(status < 400 or status == expected for status in seen):
            done.unused.append(f"{route}: {sorted(seen)}")
    return done


def fetch_answers(world: Environment, roles: Collection[str]) -> dict[tuple[str, str], RouteAnswer]:
    """The answers of all routes that change nothing, by role and request."""
    return {
        (role, str(request)): send(world, role, request)
        for route in walk_routes(world.app)
        if route.is_safe
        for request in build_requests(route, world.planted)
        for role in request.call.roles
        if role in roles
    }


def differences(
    before: Mapping[tuple[str, str], RouteAnswer], after: Mapping[tuple[str, str], RouteAnswer]
) -> list[str]:
    """The differences between the answers of two environments."""
    lines = []
    for (role, request), answer in before.items():
        other = after[role, request]
        where = [name for name in ("status", "headers", "body") if getattr(answer, name) != getattr(other, name)]
        if where:
            lines.append(f"{role}: {request}: {', '.join(where)}")
    return lines


def distinguishable_answers(world: Environment, roles: Collection[str]) -> list[str]:
    """Requests that reveal whether a thing of somebody else exists."""
    lines = []
    for route in walk_routes(world.app):
        for request in build_requests(route, world.planted):
            elsewhere = request.with_nonexistent_ids()
            for role in roles if elsewhere else ():
                assert elsewhere
                if role in request.call.shows or _is_own(role, request):
                    continue
                here = send_and_restore(world, role, request).without(request)
                there = send_and_restore(world, role, elsewhere).without(elsewhere)
                if here != there:
                    lines.append(f"{role}: {request}: {here.status} and {there.status}")
    return lines


def _is_own(role: str, request: RouteRequest) -> bool:
    return role == "outsider" and str(request.words.get("submission_id", "")).endswith("otherxyz")
