"""The web service."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import Depends, FastAPI

from api import cookies, discretion, problems
from api.deps import now, refuse_nul
from api.kaggle import routes as kaggle
from api.live import Hub, ended_by_signals
from api.pages import routes as pages
from api.routes import (
    accounts,
    audit,
    competitions,
    data,
    events,
    guests,
    health,
    leaderboard,
    notices,
    results,
    reviews,
    sessions,
    submissions,
    teams,
    thresholds,
    tokens,
    uploads,
    webhooks,
)
from scorer import live
from scorer.blobs import Blobs
from scorer.db.session import Sessions, engine_of, freeze, sessions_of
from scorer.queue import broker
from scorer.rates import Rates
from scorer.settings import Settings, read_settings

API = "/api/v1"


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application, with connections opened at start-up and closed at the end."""
    read = settings or read_settings()
    discretion.hush()
    engine = engine_of(read)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with ended_by_signals(app.state.hub):
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
    app.state.blobs = Blobs(read.blob_url, public_endpoint=read.s3_public_endpoint)
    app.state.broker = broker(read)
    app.state.rates = Rates(read)
    app.state.hub = Hub(_looker(app.state.sessions))
    problems.add_handlers(app)
    for module in (
        accounts,
        sessions,
        tokens,
        audit,
        competitions,
        guests,
        data,
        teams,
        submissions,
        uploads,
        events,
        notices,
        webhooks,
        results,
        leaderboard,
        thresholds,
        reviews,
        health,
        kaggle,
    ):
        app.include_router(module.router, prefix=API)
    pages.mount(app)
    return app


def _looker(sessions: Sessions) -> Callable[[Mapping[int, int]], Mapping[int, live.Look]]:
    def look(seen: Mapping[int, int]) -> Mapping[int, live.Look]:
        with sessions.begin() as session:
            freeze(session)
            return live.look(session, seen, now=now())

    return look
