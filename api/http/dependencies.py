"""FastAPI dependencies of routes and pages: transactions, the viewer and their rights, stores, caches and the time."""

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

from anyio import CapacityLimiter
from fastapi import Depends, Path, Request
from fastapi.security.utils import get_authorization_scheme_param
from sqlalchemy.orm import Session

from api.http import csrf, session_cookies
from api.http.concurrent_requests import count_request
from api.http.local_paths import is_setup_path
from api.http.rate_limits import RateLimiter, find_network
from api.http.response_cache import ResponseCache
from api.http.transactions import Transaction as Transaction  # noqa: PLC0414 - next to its dependency
from api.http.transactions import request_transaction
from scorer.accounts import api_tokens, roles, second_factors, sessions
from scorer.accounts.second_factors import Policy
from scorer.accounts.sessions import Browser
from scorer.acting import Acting
from scorer.blobs import Blobs
from scorer.db.notifications import count_unread
from scorer.db.tables import Account
from scorer.errors import Forbidden, Unauthenticated
from scorer.evidence.images import StoredImages
from scorer.jobs.broker import transaction
from scorer.settings import Settings
from scorer.submissions import access


def utc_now() -> datetime:
    return datetime.now(UTC)


async def request_time() -> datetime:
    """The time of the request. It is ``async`` because other dependencies wait for a free thread."""
    return utc_now()


async def transactions(request: Request) -> Transaction:
    """Begins transactions, for routes that must not hold one while they wait for bytes."""
    return build_transaction(request)


def build_transaction(request: Request) -> Transaction:
    """:func:`transactions` as a function: nested dependencies would slow down every request."""
    state = request.app.state
    return partial(transaction, state.sessions, state.broker)


async def session(request: Request) -> AsyncIterator[Session]:
    """One transaction per request; with scope ``function`` it commits before the response is sent."""
    async with request_transaction(build_transaction(request)) as database_session:
        yield database_session


def shared(name: str) -> Any:
    """The dependency of an attribute of the application's state, which all requests share."""

    async def value(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(value)


async def browser(request: Request) -> Browser:
    """The client's address (behind a proxy, from :mod:`api.http.client_address`), user agent and device."""
    return read_browser(request)


def read_browser(request: Request) -> Browser:
    """:func:`browser` as a function, for the same reason as :func:`build_transaction`."""
    host = request.client.host if request.client else "unknown"
    return Browser(host, request.headers.get("user-agent", ""), session_cookies.device_secret(request))


@dataclass(frozen=True)
class Viewer:
    """The sender of a request: an account with its roles, and the scopes of its API token or session."""

    account: Account
    scopes: Collection[str]
    session_id: int | None = None
    csrf: str = ""
    """The CSRF token of the browser's session; empty for API tokens."""
    unread: int = 0
    """Unread notices; counted for browsers only."""
    token_id: int | None = None
    """The API token; None for a browser."""


def claimed_viewer(request: Request, at: Annotated[datetime, Depends(request_time)]) -> Viewer | None:
    """The viewer of a token or cookie, without CSRF protection: browsers also send the cookie with forms of other
    sites. Only for routes that check the CSRF token themselves."""
    state = request.app.state
    operator_settings: Settings = state.settings
    token = bearer_token(request)

    def find_viewer(session: Session) -> Viewer | None:
        viewer = find_token_viewer(session, token, at) if token else _find_cookie_viewer(session, request, at)
        request.state.viewer = viewer  # for error pages
        return viewer

    policy: Policy = "nobody" if is_setup_path(request.scope["path"]) else operator_settings.require_second_factor
    return identify_viewer(
        find_viewer, build_transaction(request), state.rates, browser=read_browser(request), policy=policy
    )


def bearer_token(request: Request) -> str | None:
    scheme, token = get_authorization_scheme_param(request.headers.get("authorization"))
    return token if scheme.lower() == "bearer" and token else None


def identify_viewer(
    find_viewer: Callable[[Session], Viewer | None],
    begin: Transaction,
    rates: RateLimiter,
    *,
    browser: Browser,
    policy: Policy,
) -> Viewer | None:
    """The viewer that ``find_viewer`` returns. Counts requests and unknown tokens for the rate limits.

    Raises ``Forbidden`` if the viewer lacks the second factor that ``policy`` requires.
    """
    network = find_network(browser.address)
    try:
        with begin() as session:
            viewer = find_viewer(session)
            lacks_factor = viewer is not None and second_factors.is_missing(session, viewer.account, policy)
    except Unauthenticated:
        rates.hit("sign-in-address", network)
        raise
    if lacks_factor:  # outside the transaction, because a rollback would remove the account from the error page's menu
        title = "Your role requires a second factor. Set one up on the page /account/second-factor."
        raise Forbidden("second-factor-needed", title)
    rates.hit("request", *build_requester_key(viewer.account if viewer else None, browser))
    return viewer


def build_requester_key(account: Account | None, browser: Browser) -> tuple[str, object]:
    """The key of rate limits: the account, or a visitor's address."""
    return ("account", account.id) if account else ("address", find_network(browser.address))


async def current_viewer(request: Request, viewer: Annotated[Viewer | None, Depends(claimed_viewer)]) -> Viewer | None:
    """The viewer, or None for a visitor without a token and without a valid session.

    Raises ``Unauthenticated`` for an unknown token, ``Forbidden`` if a session sends no CSRF token with a change, and
    ``TooMany`` for too many requests in progress.
    """
    if viewer is not None:
        if viewer.session_id is not None and request.method not in csrf.SAFE_METHODS:
            token = await csrf.received_csrf_token(request)
            csrf.require_csrf(session_cookies.session_secret(request) or "", token)
        count_request(request, viewer.account.id)
    return viewer


def find_token_viewer(session: Session, secret: str, moment: datetime) -> Viewer:
    """The viewer of an API token; ``Unauthenticated`` if the token is unknown."""
    token = api_tokens.authenticate(session, secret, moment)
    return Viewer(roles.load_roles(token.account), token.scopes, token_id=token.id)


def _find_cookie_viewer(session: Session, request: Request, moment: datetime) -> Viewer | None:
    secret = session_cookies.session_secret(request)
    signed_in = sessions.resume(session, secret, moment) if secret else None
    if secret is None or signed_in is None:
        return None
    unread = count_unread(session, signed_in.account.id)
    return Viewer(roles.load_roles(signed_in.account), api_tokens.SCOPES, signed_in.id, csrf.csrf_token(secret), unread)


async def visitor(viewer: Annotated[Viewer | None, Depends(current_viewer)]) -> Account | None:
    """The reading account, or None. For public addresses."""
    if viewer is None:
        return None
    api_tokens.require_scope(viewer.scopes, "read")
    return viewer.account


async def known_viewer(viewer: Annotated[Viewer | None, Depends(current_viewer)]) -> Viewer:
    """The viewer; ``Unauthenticated`` for a visitor."""
    if viewer is None:
        title = "Sign in, or send an API token in the header 'Authorization: Bearer TOKEN'."
        raise Unauthenticated("no-token", title)
    return viewer


async def signed_in(viewer: Annotated[Viewer, Depends(known_viewer)]) -> Viewer:
    return require_session(viewer)


def require_session(viewer: Viewer) -> Viewer:
    """The viewer; ``Forbidden`` with an API token: a leaked token must not create tokens or admins or take over the
    account."""
    if viewer.session_id is None:
        raise Forbidden(
            "session-needed", "You can't do this with an API token. Sign in with your password (POST /session)."
        )
    return viewer


async def uploader(viewer: Annotated[Viewer | None, Depends(claimed_viewer)]) -> Viewer:
    """A signed-in browser that sends a form with a file. The CSRF token is a field of the form: the route reads the
    form with :func:`api.http.multipart.page_form`, which checks the token."""
    if viewer is None or viewer.session_id is None:
        raise Unauthenticated("no-session", "Sign in first.")
    return viewer


def account_with(scope: api_tokens.Scope, known: Callable[..., Any]) -> Callable[..., Any]:
    """The dependency of an account that reads its own data (scope ``read``) or acts as a participant (``submit``);
    ``known`` is the dependency of its viewer."""

    async def account(viewer: Annotated[Viewer, Depends(known)]) -> Account:
        api_tokens.require_scope(viewer.scopes, scope)
        return viewer.account

    return account


reader = account_with("read", known_viewer)
submitter = account_with("submit", known_viewer)


def organizer(
    request: Request, viewer: Annotated[Viewer, Depends(known_viewer)], at: Annotated[datetime, Depends(request_time)]
) -> Account:
    """An organizer of the competition in the path, which has its slug or an entry's id. Writing needs the scope
    ``organize``."""
    account = _within_scope(request, viewer, roles.require_organizes_any(viewer.account))
    named = {name: request.path_params[name] for name in ("slug", "submission_id") if name in request.path_params}
    if named:
        with build_transaction(request)() as session:
            access.require_organizer(Acting(session, account, at), **named)
    return account


def account_in_role(require_role: Callable[[Account], Account]) -> Callable[..., Any]:
    """The dependency of an account that passes ``require_role``; writing needs the scope ``organize``."""

    async def account(request: Request, viewer: Annotated[Viewer, Depends(known_viewer)]) -> Account:
        return _within_scope(request, viewer, require_role(viewer.account))

    return account


# Routes of reviewers and of any organizer check the competition themselves.
reviewer = account_in_role(roles.require_reviews_any)
any_organizer = account_in_role(roles.require_organizes_any)
competition_creator = account_in_role(lambda account: roles.require_role(account, "organizer"))
admin = account_in_role(roles.require_role)


def _within_scope(request: Request, viewer: Viewer, account: Account) -> Account:
    api_tokens.require_scope(viewer.scopes, "read" if request.method in csrf.SAFE_METHODS else "organize")
    return account


def acting_as(dependency: Callable[..., Any]) -> Callable[..., Any]:
    """The dependency of a route in which the account or viewer of ``dependency`` acts in the request's transaction."""

    async def acting(session: DbSession, actor: Annotated[Any, Depends(dependency)], now: Now) -> Acting[Any]:
        return Acting(session, actor.account if isinstance(actor, Viewer) else actor, now)

    return acting


RowId = Annotated[int, Path(ge=1, le=2**62)]
DbSession = Annotated[Session, Depends(session, scope="function")]
Transactions = Annotated[Transaction, Depends(transactions)]
Visitor = Annotated[Account | None, Depends(visitor)]
CurrentViewer = Annotated[Viewer | None, Depends(current_viewer)]
KnownViewer = Annotated[Viewer, Depends(known_viewer)]
SignedIn = Annotated[Viewer, Depends(signed_in)]
Uploader = Annotated[Viewer, Depends(uploader)]
CurrentUser = Annotated[Account, Depends(reader)]
Submitter = Annotated[Account, Depends(submitter)]
Reviewer = Annotated[Account, Depends(reviewer)]
Organizer = Annotated[Account, Depends(organizer)]
AnyOrganizer = Annotated[Account, Depends(any_organizer)]
CompetitionCreator = Annotated[Account, Depends(competition_creator)]
Admin = Annotated[Account, Depends(admin)]
BlobStore = Annotated[Blobs, shared("blobs")]
AppResponseCache = Annotated[ResponseCache, shared("response_cache")]
AppRateLimiter = Annotated[RateLimiter, shared("rates")]
JoinLimiter = Annotated[CapacityLimiter, shared("joins")]
CurrentBrowser = Annotated[Browser, Depends(browser)]
AppSettings = Annotated[Settings, shared("settings")]
Now = Annotated[datetime, Depends(request_time)]
ActingVisitor = Annotated[Acting[Account | None], Depends(acting_as(visitor))]
ActingKnownViewer = Annotated[Acting, Depends(acting_as(known_viewer))]
ActingSignedIn = Annotated[Acting, Depends(acting_as(signed_in))]
ActingReader = Annotated[Acting, Depends(acting_as(reader))]
ActingSubmitter = Annotated[Acting, Depends(acting_as(submitter))]
ActingReviewer = Annotated[Acting, Depends(acting_as(reviewer))]
ActingOrganizer = Annotated[Acting, Depends(acting_as(organizer))]
ActingCompetitionCreator = Annotated[Acting, Depends(acting_as(competition_creator))]
ActingAdmin = Annotated[Acting, Depends(acting_as(admin))]
ZipImages = Annotated[StoredImages, shared("stored_images")]
