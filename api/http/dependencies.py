"""What routes ask for: a transaction, the person, the blob store, the moment."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from api.http import csrf, session_cookies
from api.http.response_cache import ResponseCache
from api.http.server_sent_events import EventHub
from scorer.accounts import api_tokens, roles, sessions
from scorer.accounts.rate_limits import RateLimiter, network_of
from scorer.accounts.sessions import Browser
from scorer.blobs import Blobs
from scorer.db.tables import Account
from scorer.errors import Forbidden, Invalid, TooLarge, Unauthenticated
from scorer.jobs.broker import transaction
from scorer.notifications import notices
from scorer.settings import Settings

Transaction = Callable[[], AbstractContextManager[Session]]
MAX_JSON_BYTES = 1 << 20
bearer = HTTPBearer(auto_error=False, description="An API token.")


def utc_now() -> datetime:
    """The moment, in UTC."""
    return datetime.now(UTC)


async def request_time() -> datetime:
    """The moment of the request. (What only looks something up is ``async``: else it would wait for a thread.)"""
    return utc_now()


async def transactions(request: Request) -> Transaction:
    """For routes that must not hold a transaction while they wait for bytes."""
    state = request.app.state
    return lambda: transaction(state.sessions, state.broker)


def session(begin: Annotated[Transaction, Depends(transactions)]) -> Iterator[Session]:
    """One transaction per request; with scope ``function`` it commits before the answer leaves."""
    with begin() as each:
        yield each


def settings(request: Request) -> Settings:
    """The operator's settings."""
    read: Settings = request.app.state.settings
    return read


async def rate_limiter(request: Request) -> RateLimiter:
    """How often is too often."""
    counted: RateLimiter = request.app.state.rates
    return counted


async def browser_of(request: Request) -> Browser:
    """Where the request comes from. A proxy's word counts if the server was told to trust it."""
    host = request.client.host if request.client else "unknown"
    return Browser(host, request.headers.get("user-agent", ""))


@dataclass(frozen=True)
class Caller:
    """Who asks, and how: with an API token, or from a browser that is signed in."""

    account: Account
    scopes: Collection[str]
    session_id: int | None = None
    csrf: str = ""
    """What this browser's forms must carry."""
    unread: int = 0
    """How many notices wait; counted for browsers only."""


def claimed_caller(
    request: Request,
    begin: Annotated[Transaction, Depends(transactions)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    at: Annotated[datetime, Depends(request_time)],
    counted: Annotated[RateLimiter, Depends(rate_limiter)],
    client: Annotated[Browser, Depends(browser_of)],
) -> Caller | None:
    """Whose name the request bears, which a browser adds whoever made the page: only for routes that read the proof of
    their form themselves."""

    def look(each: Session) -> Caller | None:
        return (
            caller_of_token(each, credentials.credentials, at) if credentials else _caller_of_cookie(each, request, at)
        )

    return identify_caller(look, begin, counted, client)


def identify_caller(
    look: Callable[[Session], Caller | None], begin: Transaction, counted: RateLimiter, client: Browser
) -> Caller | None:
    """Who ``look`` says asks. Requests are counted, and so are tokens that nobody has."""
    network = network_of(client.address)
    try:
        with begin() as each:
            found = look(each)
    except Unauthenticated:
        counted.take("sign-in-address", network)
        raise
    counted.take("request", *(("account", found.account.id) if found else ("address", network)))
    return found


async def current_caller(
    request: Request,
    found: Annotated[Caller | None, Depends(claimed_caller)],
    given_csrf: Annotated[str | None, Depends(csrf.received_csrf_token)],
) -> Caller | None:
    """Who asks, if they said so: a wrong token is an error; no token and no living session is a visitor."""
    if found is not None and found.session_id is not None and request.method not in csrf.SAFE_METHODS:
        csrf.require_csrf(session_cookies.session_secret(request) or "", given_csrf)
    return found


def caller_of_token(session: Session, secret: str, moment: datetime) -> Caller:
    """Who has a token; ``Unauthenticated`` if nobody does."""
    token = api_tokens.authenticate(session, secret, moment)
    return Caller(token.account, token.scopes)


def _caller_of_cookie(session: Session, request: Request, moment: datetime) -> Caller | None:
    secret = session_cookies.session_secret(request)
    found = sessions.resume(session, secret, moment) if secret else None
    if secret is None or found is None:
        return None
    unread = notices.count_unread(session, found.account)
    return Caller(found.account, api_tokens.SCOPES, found.id, csrf.csrf_token(secret), unread)


async def visitor(asking: Annotated[Caller | None, Depends(current_caller)]) -> Account | None:
    """Who reads; nobody in particular may."""
    if asking is None:
        return None
    api_tokens.require_scope(asking.scopes, "read")
    return asking.account


def known_caller(asking: Annotated[Caller | None, Depends(current_caller)]) -> Caller:
    """Who asks; nobody may not."""
    if asking is None:
        raise Unauthenticated(
            "no-token", "This needs you to be signed in, or an API token: the header 'Authorization: Bearer TOKEN'."
        )
    return asking


def signed_in(asking: Annotated[Caller, Depends(known_caller)]) -> Caller:
    """Somebody at a browser: a token that leaks must not be able to make more tokens or take the account over."""
    if asking.session_id is None:
        raise Forbidden("session-needed", "An API token may not do this: sign in with your password (POST /session).")
    return asking


def uploader(found: Annotated[Caller | None, Depends(claimed_caller)]) -> Caller:
    """Somebody at a browser who sends a form with a file in it: its route reads the proof (``cookies.require_csrf``),
    which comes with the form."""
    if found is None or found.session_id is None:
        raise Unauthenticated("no-session", "Please sign in first.")
    return found


def reader(asking: Annotated[Caller, Depends(known_caller)]) -> Account:
    """Who reads what is theirs."""
    api_tokens.require_scope(asking.scopes, "read")
    return asking.account


def submitter(asking: Annotated[Caller, Depends(known_caller)]) -> Account:
    """Who uploads and picks."""
    api_tokens.require_scope(asking.scopes, "submit")
    return asking.account


def organizer(request: Request, asking: Annotated[Caller, Depends(known_caller)]) -> Account:
    """An organizer or admin; for acts, with a token that is for acts."""
    api_tokens.require_scope(asking.scopes, "read" if request.method in csrf.SAFE_METHODS else "organize")
    return roles.require_role(asking.account, "organizer")


def reviewer(request: Request, asking: Annotated[Caller, Depends(known_caller)]) -> Account:
    """A reviewer, an organizer or an admin; for acts, with a token that is for acts."""
    api_tokens.require_scope(asking.scopes, "read" if request.method in csrf.SAFE_METHODS else "organize")
    return roles.require_role(asking.account, "reviewer", "organizer")


def admin(account: Annotated[Account, Depends(organizer)]) -> Account:
    """An admin."""
    return roles.require_role(account)


async def refuse_nul(request: Request) -> None:
    """PostgreSQL's text has no NUL character, so neither do addresses and JSON bodies here."""
    asked = request.scope["path"] + unquote(request.url.query)
    is_json = request.headers.get("content-type", "").startswith("application/json")
    if is_json and int(request.headers.get("content-length", 0)) > MAX_JSON_BYTES:
        raise TooLarge("too-large", f"A JSON body may have {MAX_JSON_BYTES:,} bytes here.", limit=MAX_JSON_BYTES)
    if "\x00" in asked or (is_json and b"\\u0000" in await request.body()):
        raise Invalid("nul-character", "The request has a NUL character in it.")


async def response_cache(request: Request) -> ResponseCache:
    """Answers that many ask for."""
    kept: ResponseCache = request.app.state.shelf
    return kept


def blobs(request: Request) -> Blobs:
    """The blob store."""
    store: Blobs = request.app.state.blobs
    return store


def event_hub(request: Request) -> EventHub:
    """Who listens to submissions in this process."""
    listening: EventHub = request.app.state.hub
    return listening


DbSession = Annotated[Session, Depends(session, scope="function")]
Transactions = Annotated[Transaction, Depends(transactions)]
Visitor = Annotated[Account | None, Depends(visitor)]
CurrentCaller = Annotated[Caller | None, Depends(current_caller)]
KnownCaller = Annotated[Caller, Depends(known_caller)]
SignedIn = Annotated[Caller, Depends(signed_in)]
Uploader = Annotated[Caller, Depends(uploader)]
CurrentUser = Annotated[Account, Depends(reader)]
Submitter = Annotated[Account, Depends(submitter)]
Reviewer = Annotated[Account, Depends(reviewer)]
Organizer = Annotated[Account, Depends(organizer)]
Admin = Annotated[Account, Depends(admin)]
BlobStore = Annotated[Blobs, Depends(blobs)]
AppResponseCache = Annotated[ResponseCache, Depends(response_cache)]
AppRateLimiter = Annotated[RateLimiter, Depends(rate_limiter)]
AppEventHub = Annotated[EventHub, Depends(event_hub)]
CurrentBrowser = Annotated[Browser, Depends(browser_of)]
AppSettings = Annotated[Settings, Depends(settings)]
Now = Annotated[datetime, Depends(request_time)]
