"""A small OpenID Connect issuer on loopback that can be made to lie."""

import base64
import gzip
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.api.conftest import Service
from tests.web.pages import HTML

CLIENT = "kennel"
SECRET = "a secret of the client"
DISCOVERY, KEYS = "/.well-known/openid-configuration", "/keys"
KEPT_BACK_SECONDS = 30.0
"""The longest time."""


@dataclass
class FakeIssuer:
    """An issuer with its signed-in ``person``, and false ``claims`` or a false ``key`` in its tokens."""

    address: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "42", "preferred_username": "grace"})
    claims: dict[str, Any] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)
    published: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "1", "use": "sig"}))
    further_keys: list[dict[str, Any]] = field(default_factory=list)
    """Keys that are published, too."""
    of_key: dict[str, Any] = field(default_factory=dict)
    """What is published with the key."""
    key: RSAKey | None = None
    header: dict[str, str] = field(default_factory=lambda: {"alg": "RS256", "kid": "1"})
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    """How often each path was asked for."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of answers."""
    seconds_between_bytes: float = 0.0
    answers: Event = field(default_factory=Event)
    """Answers are kept back until it is set, as it is from the beginning."""

    def __post_init__(self) -> None:
        self.answers.set()

    def rotate(self, key_id: str) -> None:
        """Sign with a new key, and publish that alone."""
        self.published = RSAKey.generate_key(2048, {"kid": key_id, "use": "sig"})
        self.header = {**self.header, "kid": key_id}

    def visit(self, url: str) -> str:
        """Sign a person in at the authorization endpoint; the address that their browser is redirected to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.address}/authorize?")
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert set(asked["scope"].split()) == {"openid", "email", "profile"}
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def describe(self) -> dict[str, Any]:
        """The discovery document."""
        return {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "jwks_uri": f"{self.address}{KEYS}",
            **self.described,
        }

    def exchange(self, form: dict[str, str], credentials: str) -> dict[str, Any] | None:
        """Tokens for a code; None if the code, the verifier or the client is wrong."""
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        expected = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if asked is None or challenge.decode().rstrip("=") != asked["code_challenge"] or credentials != expected:
            return None
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": asked["nonce"]}
        claims = {**claims, **self.person, **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        token = jwt.encode(dict(self.header), claims, self.key or self.published)
        return {"access_token": "unused", "token_type": "Bearer", "id_token": token}


@contextmanager
def running_issuer() -> Iterator[FakeIssuer]:
    """A running issuer."""
    issuer = FakeIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys = {"keys": [issuer.published.as_dict(private=False) | issuer.of_key, *issuer.further_keys]}
            path = DISCOVERY if self.path.endswith(DISCOVERY) else self.path  # Entra has one for each tenant
            self._answer({DISCOVERY: issuer.describe(), KEYS: keys}.get(path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._answer(issuer.exchange(form, self.headers.get("Authorization", "")))

        def _answer(self, document: dict[str, Any] | None) -> None:
            content = json.dumps(document or {"error": "invalid_grant"}).encode()
            if issuer.headers.get("Content-Encoding") == "gzip":
                content = gzip.compress(content)
            issuer.asked[self.path] += 1
            issuer.answers.wait(KEPT_BACK_SECONDS)
            self.send_response(200 if document else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in issuer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            piece = 1 if issuer.seconds_between_bytes else len(content)
            with suppress(ConnectionError):  # of those whom it takes too long
                for start in range(0, len(content), piece):
                    time.sleep(issuer.seconds_between_bytes)
                    self.wfile.write(content[start : start + piece])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield issuer
    finally:
        issuer.seconds_between_bytes = 0.0  # the server waits for its answers
        issuer.answers.set()
        server.shutdown()
        thread.join()
        server.server_close()


def configure(service: Service, **changes: Any) -> None:
    """Other settings."""
    state = service.app.state
    state.settings = state.settings.model_copy(update=changes)


def depart(service: Service, onward: str = "/account") -> str:
    """Press the button; where the browser is sent."""
    answer = service.http.get(f"/signin/oidc?next={onward}", follow_redirects=False)
    assert answer.status_code == 303
    location: str = answer.headers["location"]
    return location


def arrive(service: Service, back: str) -> Any:
    """The browser comes back."""
    assert back.startswith("http://testserver/signin/oidc/return?")
    parts = urlsplit(back)
    return service.http.get(f"{parts.path}?{parts.query}", headers=HTML)


def travel(service: Service, issuer: FakeIssuer) -> Any:
    """There and back."""
    return arrive(service, issuer.visit(depart(service)))


def me(service: Service) -> Any:
    """Who is signed in."""
    return service.http.get("/api/v1/me").json()
