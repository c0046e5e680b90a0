"""API tokens: listing, creating and revoking them."""

from fastapi import Response

from api.accounts.views import NewToken, NewTokenView, TokenPage, TokenView
from api.http.dependencies import (
    ActingKnownViewer,
    ActingReader,
    ActingSignedIn,
    KnownViewer,
    RowId,
    SignedIn,
    require_session,
)
from api.http.paging import Paging
from api.http.routing import ApiRouter
from scorer.accounts import api_tokens, sessions
from scorer.db import accounts
from scorer.identifiers import new_secret

router = ApiRouter(prefix="/tokens", tags=["tokens"])


@router.get("")
def index(acting: ActingReader, wanted: Paging) -> TokenPage:
    """List your valid API tokens, newest first."""
    page = wanted.slice_all(accounts.load_tokens(acting.session, acting.actor.id))
    views = [TokenView.model_validate(token) for token in page.rows]
    return TokenPage(tokens=views, next_after=page.next_after)


@router.post("", status_code=201)
def create(body: NewToken, response: Response, acting: ActingSignedIn, viewer: SignedIn) -> NewTokenView:
    """Create an API token. Only this response contains its secret. Requires a session: tokens can't create tokens."""
    sessions.hold(acting.session, viewer.session_id, acting.now)
    secret = new_secret()
    token = api_tokens.issue_own(acting, secret, name=body.name, scopes=body.scopes)
    response.headers["Cache-Control"] = "no-store"
    return NewTokenView.of(token, token=secret)


@router.delete("/{token_id}", status_code=204)
def revoke(token_id: RowId, acting: ActingKnownViewer, viewer: KnownViewer) -> None:
    """Revoke one of your API tokens immediately. A token may revoke itself; revoking others requires a session."""
    if viewer.token_id != token_id:
        require_session(viewer)
    api_tokens.revoke(acting, token_id)
