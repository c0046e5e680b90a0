"""A service full of canaries that can be restored to its first state."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, create_engine, make_url, select, text, update
from sqlalchemy.orm import Session, sessionmaker

from api.http import dependencies
from api.http.rate_limits import RATE_LIMITS
from api.main import create_app
from deploy.standalone.ephemeral import Servers
from scorer.db.session import build_engine
from scorer.db.tables import (
    Account,
    Evidence,
    Job,
    Label,
    Measurement,
    Preparation,
    Recovery,
    ReferenceSet,
    ShownMeasurement,
    ShownTrack,
    Threshold,
    Track,
)
from scorer.settings import Settings
from tests.conftest import TEMPLATE
from tests.people import DRAW_KEY
from tests.privacy import canaries
from tests.privacy.canaries import SEARCH, Canaries

NAME, ORIGINAL = "leaks", "leaks_original"
NOW = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
Plant = Callable[[Session, Settings, datetime], Canaries]


@dataclass
class Environment:
    """The application with its canaries, and methods that restore its database."""

    servers: Servers
    settings: Settings
    app: FastAPI
    http: TestClient
    planted: Canaries
    blobs: Path

    @contextmanager
    def rewriting(self) -> Iterator[Session]:
        """A transaction that may change everything, even history. If it fails, the environment is restored."""
        try:
            with _owning(self.servers) as session:
                yield session
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Restore the database and the blobs."""
        self._engine.dispose()
        _statements(
            self.servers,
            f"DROP DATABASE {NAME} WITH (FORCE)",
            f"CREATE DATABASE {NAME} TEMPLATE {ORIGINAL} STRATEGY FILE_COPY",
        )
        self._restore_blobs()

    @contextmanager
    def undone(self) -> Iterator[Connection]:
        """Undo all changes of the requests in this block.

        The requests run in savepoints of one transaction. The yielded connection sees their changes.
        """
        usual = self.app.state.sessions
        with self._engine.connect() as connection, connection.begin() as outer:
            self.app.state.sessions = sessionmaker(
                connection, join_transaction_mode="create_savepoint", expire_on_commit=False
            )
            try:
                yield connection
            finally:
                self.app.state.sessions = usual
                outer.rollback()
                self._restore_blobs()

    def _restore_blobs(self) -> None:
        original = self.blobs.with_name("original")
        if _files_in(self.blobs) != _files_in(original):
            shutil.rmtree(self.blobs)
            shutil.copytree(original, self.blobs)

    @property
    def _engine(self) -> Engine:
        bound = self.app.state.sessions.kw["bind"]
        assert isinstance(bound, Engine)
        return bound


def _files_in(folder: Path) -> dict[Path, tuple[int, int]]:
    """Size and modification time of every file, by path. Folders have zeros, because a copy changes their times."""

    def state(path: Path) -> tuple[int, int]:
        status = path.stat()
        return (0, 0) if path.is_dir() else (status.st_size, status.st_mtime_ns)

    return {path.relative_to(folder): state(path) for path in folder.rglob("*")}


@contextmanager
def planted_environment(
    servers: Servers, folder: Path, *, template: str = TEMPLATE, plant: Plant = canaries.plant_canaries
) -> Iterator[Environment]:
    """A new environment with every clock at ``NOW``. ``template`` is a database with the tables."""
    blobs = folder / "blobs"
    blobs.mkdir()
    _statements(servers, f"CREATE DATABASE {NAME} TEMPLATE {template} STRATEGY FILE_COPY")
    url = make_url(servers.postgres.app_url).set(database=NAME)
    settings = Settings(
        database_url=url.render_as_string(hide_password=False),
        redis_url=servers.redis.url,
        blob_url=blobs.as_uri(),
        scratch=folder / "scratch",
        rates=dict.fromkeys(RATE_LIMITS, "1000000/minute"),
        draw_key=DRAW_KEY,
    )
    try:
        with _owning(servers) as session:
            planted = plant(session, settings, NOW)
        _statements(servers, f"CREATE DATABASE {ORIGINAL} TEMPLATE {NAME} STRATEGY FILE_COPY")
        shutil.copytree(blobs, blobs.with_name("original"))
        app = create_app(settings)
        app.dependency_overrides[dependencies.request_time] = lambda: NOW
        with TestClient(app, raise_server_exceptions=False, follow_redirects=False) as http:
            yield Environment(servers, settings, app, http, planted, blobs)
    finally:
        build_engine(settings).dispose()
        _statements(servers, *(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" for name in (NAME, ORIGINAL)))


@contextmanager
def _owning(servers: Servers) -> Iterator[Session]:
    """A transaction of the tables' owner, committed at the end."""
    url = make_url(servers.postgres.owner_url).set(database=NAME)
    engine = create_engine(url, connect_args={"options": "-c timezone=utc"})
    with Session(engine, expire_on_commit=False) as session, session.begin():
        yield session
    engine.dispose()


def _statements(servers: Servers, *statements: str) -> None:
    engine = create_engine(servers.postgres.admin_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


RECOVERED: dict[str, Any] = {"findings": [], "errors": {}, "pairs": {}, **SEARCH}


def change_private_data(session: Session) -> None:
    """Change private scores and their order, tau, extractor, images, jobs and labels."""
    track = session.scalars(select(Track).where(Track.kind == "private", Track.preparation_id.is_not(None))).one()
    track.extractor = "another"
    track.epsilon = 1e-9
    session.add(Threshold(track_id=track.id, tau=0.05, method="manual", choice={}, reason="", created_at=NOW))
    ranked = session.scalars(select(Measurement).where(Measurement.track_id == track.id)).all()
    for place, measurement in enumerate(sorted(ranked, key=lambda row: row.fid)):
        measurement.fid = 9000.0 - 1000 * place
        measurement.memorization_distance = 0.9
        measurement.histogram = {}
        measurement.provenance = {"a": 1}
        measurement.closest_pairs = []
        session.add(
            Label(
                submission_ref=measurement.submission_ref, label="legitimate", note="", created_at=NOW,
                author_id=session.scalars(select(Account.id)).first(),
            )
        )  # fmt: skip
        session.add(
            Job(
                queue="score", submission_ref=measurement.submission_ref, track_id=track.id, state="waiting",
                priority=1, turn=0, due_at=NOW, attempts=0, created_at=NOW,
            )
        )  # fmt: skip
    session.execute(
        update(Job)
        .where(Job.priority == 1, Job.state == "running")
        .values(state="done", holder=None, finished_at=NOW + timedelta(seconds=5))
    )
    change_shown_tracks(session)
    session.execute(update(Evidence).values(findings=[], details={}, near_copies_share=0.0))
    session.execute(update(Recovery).values(p_value=0.5, gap=-0.1, report={**RECOVERED, "sentence": "Another."}))
    session.execute(update(Preparation).where(Preparation.id == track.preparation_id).values(count=5))
    session.execute(update(ReferenceSet).values(bytes=ReferenceSet.bytes + 1, blob_key="elsewhere"))


def change_shown_tracks(session: Session) -> None:
    """Change a value on a shown track that participants do not see, and add another such track."""
    measured = session.scalars(select(ShownMeasurement).order_by(ShownMeasurement.id).limit(1)).one()
    shown = session.get_one(ShownTrack, measured.shown_track_id)
    of_entry = {"submission_ref": measured.submission_ref, "shown_track_id": shown.id, "created_at": NOW}
    job = Job(**of_entry, queue="rescore", state="done", priority=2, turn=0, due_at=NOW, attempts=1, finished_at=NOW)
    session.add(job)
    session.flush()
    session.add(ShownMeasurement(**of_entry, job_id=job.id, scorer_version="1", value=1.0, provenance={}))
    names = ("competition_id", "metric", "constants", "extractor", "reference", "visibility", "author_id", "created_at")
    session.add(ShownTrack(**{name: getattr(shown, name) for name in names}, name="another"))
