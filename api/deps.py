"""What routes ask for: a transaction, the person, the blob store, the moment."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from scorer import accounts
from scorer.blobs import Blobs
from scorer.db.tables import Account
from scorer.errors import Invalid, TooLarge, Unauthenticated
from scorer.queue import transaction
from scorer.settings import Settings

Transaction = Callable[[], AbstractContextManager[Session]]
JSON_BYTES = 1 << 20
bearer = HTTPBearer(auto_error=False, description="An API token.")


def now() -> datetime:
    """The moment of the request, in UTC."""
    return datetime.now(UTC)


def transactions(request: Request) -> Transaction:
    """For routes that must not hold a transaction while they wait for bytes."""
    state = request.app.state
    return lambda: transaction(state.sessions, state.broker)


def session(begin: Annotated[Transaction, Depends(transactions)]) -> Iterator[Session]:
    """One transaction per request; with scope ``function`` it commits before the answer leaves."""
    with begin() as each:
        yield each


def visitor(
    begin: Annotated[Transaction, Depends(transactions)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    moment: Annotated[datetime, Depends(now)],
) -> Account | None:
    """Who asks, if they said so; a wrong token is an error, no token is a visitor."""
    if credentials is None:
        return None
    with begin() as each:
        return accounts.authenticate(each, credentials.credentials, moment)


def current_user(account: Annotated[Account | None, Depends(visitor)]) -> Account:
    """Who asks; nobody may not."""
    if account is None:
        raise Unauthenticated("no-token", "This needs an API token: send the header 'Authorization: Bearer TOKEN'.")
    return account


def organizer(account: Annotated[Account, Depends(current_user)]) -> Account:
    """An organizer or admin."""
    return accounts.require(account, "organizer")


def admin(account: Annotated[Account, Depends(current_user)]) -> Account:
    """An admin."""
    return accounts.require(account)


async def refuse_nul(request: Request) -> None:
    """PostgreSQL's text has no NUL character, so neither do addresses and JSON bodies here."""
    asked = request.scope["path"] + unquote(request.url.query)
    is_json = request.headers.get("content-type", "").startswith("application/json")
    if is_json and int(request.headers.get("content-length", 0)) > JSON_BYTES:
        raise TooLarge("too-large", f"A JSON body may have {JSON_BYTES:,} bytes here.", limit=JSON_BYTES)
    if "\x00" in asked or (is_json and b"\\u0000" in await request.body()):
        raise Invalid("nul-character", "The request has a NUL character in it.")


def blobs(request: Request) -> Blobs:
    """The blob store."""
    store: Blobs = request.app.state.blobs
    return store


def settings(request: Request) -> Settings:
    """The operator's settings."""
    read: Settings = request.app.state.settings
    return read


DbSession = Annotated[Session, Depends(session, scope="function")]
Transactions = Annotated[Transaction, Depends(transactions)]
Visitor = Annotated[Account | None, Depends(visitor)]
CurrentUser = Annotated[Account, Depends(current_user)]
Organizer = Annotated[Account, Depends(organizer)]
Admin = Annotated[Account, Depends(admin)]
BlobStore = Annotated[Blobs, Depends(blobs)]
AppSettings = Annotated[Settings, Depends(settings)]
Now = Annotated[datetime, Depends(now)]
