"""Builds the FastAPI application: its state, error handlers, JSON routes and pages."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI

from api import error_handlers
from api.http import csrf, log_redaction
from api.http.dependencies import refuse_nul, utc_now
from api.http.response_cache import ResponseCache
from api.http.server_sent_events import EventHub, closed_by_signals
from api.kaggle import router as kaggle
from api.pages import router
from api.routes import audit_log, health, jobs, leaderboard
from api.routes.accounts import accounts, api_tokens, sessions
from api.routes.competitions import allowlist, competitions, data_files
from api.routes.evidence import evidence, generators
from api.routes.import_export import data_release, import_results
from api.routes.insights import gallery, human_ratings, insights
from api.routes.notifications import notices, webhooks
from api.routes.review import publication, review_queue, reviews, rulings
from api.routes.submissions import submission_events, submission_files, submissions, uploads
from api.routes.teams import final_picks, teams
from api.routes.tuning import private_extractor, thresholds
from scorer.accounts.rate_limits import RateLimiter
from scorer.blobs import blobs_of
from scorer.db.connection_budget import BOARD_CONNECTIONS, require_connections
from scorer.db.session import UNAVAILABLE, Connections, Sessions, connected, engine_of, sessions_of, use_one_snapshot
from scorer.errors import Unavailable
from scorer.jobs.broker import create_celery_app
from scorer.leaderboard.board_cache import BoardCache
from scorer.review.flag_facts import FlagFactsCache
from scorer.settings import Settings, read_settings
from scorer.submissions import progress

API_PREFIX = "/api/v1"
MAX_JOINS = 4
"""Uploads whose bytes are joined at once, in threads of their own. Joining takes seconds for a gigabyte; in the threads
of requests, as many uploads as there are threads would keep every other request waiting."""


def served_app() -> FastAPI:
    """The application as a web server starts it, with the settings of the environment. Ends the process with one
    sentence if settings are missing, or if all processes may open more connections than the database has."""
    try:
        settings = read_settings()
        with suppress(*UNAVAILABLE), connected(settings) as sessions:  # without its database it says so in each answer
            require_connections(sessions, settings)
    except Unavailable as error:
        raise SystemExit(error.message) from None
    return create_app(settings)


def create_app(settings: Settings) -> FastAPI:
    """The application; its connections are closed when it shuts down."""
    log_redaction.redact_access_log()
    app = FastAPI(
        title="Kennel",
        version=version("kennel"),
        summary="A competition scoring service for generative image models.",
        lifespan=_lifespan,
        openapi_url=f"{API_PREFIX}/openapi.json",
        dependencies=[Depends(refuse_nul), Depends(csrf.refuse_cross_site)],
        docs_url=None,
        redoc_url=None,
    )
    set_up_state(app, settings)
    error_handlers.add_error_handlers(app)
    for module in (
        leaderboard,  # the most requested routes are matched first
        accounts,
        sessions,
        api_tokens,
        audit_log,
        jobs,
        competitions,
        allowlist,
        publication,
        human_ratings,
        data_release,
        data_files,
        teams,
        submissions,
        uploads,
        submission_events,
        notices,
        webhooks,
        submission_files,
        final_picks,
        generators,
        thresholds,
        private_extractor,
        reviews,
        review_queue,
        evidence,
        rulings,
        import_results,
        insights,
        gallery,
        health,
        kaggle,
    ):
        app.include_router(module.router, prefix=API_PREFIX)
    router.mount_pages(app)
    return app


def set_up_state(app: FastAPI, settings: Settings) -> None:
    """Put everything that routes share into ``app.state``: settings, connections, blob store, broker, caches."""
    board_connections = min(BOARD_CONNECTIONS, settings.web_connections - 1)
    engine = engine_of(settings, max_connections=settings.web_connections - board_connections)
    readers = Connections(settings, max_connections=board_connections)
    app.state.settings = settings
    app.state.engine = engine
    app.state.readers = readers
    app.state.sessions = sessions_of(engine, board_cache=BoardCache(readers), flag_facts=FlagFactsCache(readers))
    app.state.blobs = blobs_of(settings)
    app.state.broker = create_celery_app(settings)
    app.state.rates = RateLimiter(settings)
    app.state.joins = CapacityLimiter(MAX_JOINS)
    app.state.response_cache = ResponseCache()
    app.state.hub = EventHub(_snapshot_reader(app.state.sessions))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    with closed_by_signals(app.state.hub):
        yield
    app.state.broker.close()
    app.state.readers.close()
    app.state.engine.dispose()


def _snapshot_reader(sessions: Sessions) -> Callable[[Mapping[int, int]], Mapping[int, progress.StatusSnapshot]]:
    def read_snapshots(seen: Mapping[int, int]) -> Mapping[int, progress.StatusSnapshot]:
        with sessions.begin() as session:
            use_one_snapshot(session)
            return progress.status_snapshots(session, seen, now=utc_now())

    return read_snapshots
