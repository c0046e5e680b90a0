"""The web service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import Depends, FastAPI

from api import cookies, problems
from api.deps import refuse_nul
from api.pages import routes as pages
from api.routes import (
    accounts,
    competitions,
    health,
    leaderboard,
    results,
    reviews,
    sessions,
    submissions,
    thresholds,
    tokens,
)
from scorer.blobs import Blobs
from scorer.db.session import engine_of, sessions_of
from scorer.queue import broker
from scorer.rates import Rates
from scorer.settings import Settings, read_settings

API = "/api/v1"


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application, with connections opened at start-up and closed at the end."""
    read = settings or read_settings()
    engine = engine_of(read)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.broker.close()
        engine.dispose()

    app = FastAPI(
        title="Kennel",
        version=version("kennel"),
        summary="A competition scoring service for generative image models.",
        lifespan=lifespan,
        openapi_url=f"{API}/openapi.json",
        dependencies=[Depends(refuse_nul), Depends(cookies.refuse_cross_site)],
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = read
    app.state.sessions = sessions_of(engine)
    app.state.blobs = Blobs(read.blob_url)
    app.state.broker = broker(read)
    app.state.rates = Rates(read)
    problems.add_handlers(app)
    for module in (accounts, sessions, tokens, competitions, submissions, leaderboard, thresholds, reviews, health):
        app.include_router(module.router, prefix=API)
    app.include_router(results.router, prefix=API)
    pages.mount(app)
    return app
