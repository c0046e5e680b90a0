"""A small OpenID Connect issuer on loopback that can send false answers."""

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
MAX_DELAY_SECONDS = 30.0


@dataclass
class FakeIssuer:
    """An issuer with a signed-in ``person``. Its tokens may have false ``claims`` or a false ``key``."""

    address: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "42", "preferred_username": "grace"})
    claims: dict[str, Any] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)
    published: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "1", "use": "sig"}))
    further_keys: list[dict[str, Any]] = field(default_factory=list)
    """Additional published keys."""
    of_key: dict[str, Any] = field(default_factory=dict)
    """Additional fields of the published key."""
    key: RSAKey | None = None
    header: dict[str, str] = field(default_factory=lambda: {"alg": "RS256", "kid": "1"})
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    """The number of requests by path."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional headers of answers."""
    seconds_between_bytes: float = 0.0
    answers: Event = field(default_factory=Event)
    """Clear it to delay answers until it is set again."""

    def __post_init__(self) -> None:
        self.answers.set()

    def rotate(self, key_id: str) -> None:
        """Sign with a new key, and publish only that key."""
        self.published = RSAKey.generate_key(2048, {"kid": key_id, "use": "sig"})
        self.header = {**self.header, "kid": key_id}

    def visit(self, url: str) -> str:
        """Sign the person in at the authorization endpoint. Returns the URL of the redirect."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert url.startswith(f"{self.address}/authorize?")
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
        assert set(asked["scope"].split()) == {"openid", "email", "profile"}
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def describe(self) -> dict[str, Any]:
        return {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "jwks_uri": f"{self.address}{KEYS}",
            **self.described,
        }

    def exchange(self, form: dict[str, str], credentials: str) -> dict[str, Any] | None:
        """Tokens for a code. None if the code, the verifier or the client is wrong."""
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
    issuer = FakeIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys = {"keys": [issuer.published.as_dict(private=False) | issuer.of_key, *issuer.further_keys]}
            path = DISCOVERY if self.path.endswith(DISCOVERY) else self.path  # Entra has a document per tenant
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
            issuer.answers.wait(MAX_DELAY_SECONDS)
            self.send_response(200 if document else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in issuer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            piece = 1 if issuer.seconds_between_bytes else len(content)
            with suppress(ConnectionError):  # a client may give up
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
        issuer.seconds_between_bytes = 0.0  # the shutdown waits for open answers
        issuer.answers.set()
        server.shutdown()
        thread.join()
        server.server_close()


def configure(service: Service, **changes: Any) -> None:
    """Change settings of the service."""
    state = service.app.state
    state.settings = state.settings.model_copy(update=changes)


def depart(service: Service, onward: str = "/account") -> str:
    """Start a sign-in. Returns the URL at the issuer."""
    answer = service.http.get(f"/signin/oidc?next={onward}", follow_redirects=False)
    assert answer.status_code == 303
    location: str = answer.headers["location"]
    return location


def arrive(service: Service, back: str) -> Any:
    """Follow the redirect from the issuer back to the service."""
    assert back.startswith("http://testserver/signin/oidc/return?")
    parts = urlsplit(back)
    return service.http.get(f"{parts.path}?{parts.query}", headers=HTML)


def travel(service: Service, issuer: FakeIssuer) -> Any:
    """Sign in through the issuer."""
    return arrive(service, issuer.visit(depart(service)))


def me(service: Service) -> Any:
    """The signed-in account."""
    return service.http.get("/api/v1/me").json()
