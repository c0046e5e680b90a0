"""The timed requests to a large board: the web process as ``kennel up`` runs it, over HTTP."""

import json
import logging
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.orm import Session

import migrations
from benchmarks.harness.isolation import ROOT, Run
from benchmarks.speed.load import Load, command
from benchmarks.speed.standings_seeding import ORGANIZER, OWN, SLUG, fill
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import Servers, ephemeral_servers
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port
from deploy.standalone.service import service_children
from deploy.standalone.supervisor import Supervisor
from scorer.accounts import accounts, api_tokens
from scorer.competitions import competition_state, setup
from scorer.competitions.spec import CompetitionSpec, TrackSpec
from scorer.db.leaderboard.changes import NEW_CHANGES_QUERY
from scorer.lifecycle import TrackKind
from scorer.teams import teams

log = logging.getLogger(__name__)
BOARD = f"/api/v1/competitions/{SLUG}/leaderboard"
PAGE = f"/competitions/{SLUG}"
DECIMALS = 5


@dataclass(frozen=True)
class BoardService:
    """The seeded competition: its tracks, and the service's access to the database."""

    engine: Engine
    tracks: dict[TrackKind, int]
    own_team: int
    account: int

    def retune(self, kind: TrackKind, tau: float) -> None:
        """Insert a threshold, the one row that a re-tune commits."""
        with self.engine.begin() as connection:
            connection.execute(
                text(
                    "INSERT INTO thresholds (track_id, tau, method, choice, reason, created_at)"
                    " VALUES (:track, :tau, 'manual', '{}', '', now())"
                ),
                {"track": self.tracks[kind], "tau": tau},
            )

    def measure_one(self, fid: float) -> None:
        """Insert a measurement of an entry of the own team."""
        with self.engine.begin() as connection:
            connection.execute(
                text(
                    "WITH own AS (SELECT max(ref) AS ref FROM submissions WHERE team_id = :team), job AS ("
                    " INSERT INTO jobs (queue, submission_ref, state, priority, turn, due_at, attempts, created_at)"
                    " SELECT 'score', ref, 'done', 0, 0, now(), 1, now() FROM own RETURNING id)"
                    " INSERT INTO measurements (job_id, submission_ref, track_id, scorer_version, fid,"
                    " memorization_distance, closest_pairs, histogram, artifact_key, provenance, created_at)"
                    " SELECT job.id, own.ref, :track, '1', :fid, 0.9, '[]', '{}', '', '{}', now() FROM own, job"
                ),
                {"team": self.own_team, "track": self.tracks["public"], "fid": fid},
            )


def measure(entries: int, teams: int, rounds: int, seconds: float, readers: int, plans: str) -> Run:
    """All measurements of one competition: numbers by name. The query plan is written to the folder ``plans``."""
    with ephemeral_servers() as servers:
        migrations.upgrade(servers.postgres.owner_url, APP)
        log.info("filling a competition of %d entries", entries)
        service = _competition(servers, entries, teams)
        log.info("asking")
        with _web(servers) as port:
            numbers = _measure_waits(service, port, rounds) | _measure_throughput(service, port, seconds, readers)
        _explain(service, Path(plans))
        service.engine.dispose()
    return numbers | {"seconds": numbers["retuned_seconds"]}


def _competition(servers: Servers, entries: int, count: int) -> BoardService:
    engine = create_engine(servers.postgres.app_url, connect_args={"options": "-c timezone=utc"})
    now = datetime.now(UTC)
    start = now - timedelta(seconds=entries + 2 * 86_400)
    tiny = TrackSpec(extractor="tiny")
    with Session(engine, expire_on_commit=False) as session, session.begin():
        organizer = accounts.create_account(session, handle="organizer", name="", role="organizer", now=now)
        reader = accounts.create_account(session, handle="reader", name="", role="participant", now=now)
        for account, secret in ((organizer, ORGANIZER), (reader, OWN)):
            api_tokens.issue(session, account, secret, name="bench", now=now)
        spec = CompetitionSpec(
            slug=SLUG, title="Bench", opens_at=start, public=tiny, private=tiny, score_decimals=DECIMALS
        )
        setup.create(session, spec, author=organizer, now=start)
        tracks = competition_state.state_of(session, SLUG, now).tracks
        own_team = teams.find_or_create_team(session, tracks["public"].competition_id, reader, now=now)
        service = BoardService(engine, {kind: track.id for kind, track in tracks.items()}, own_team.id, reader.id)
        competition = tracks["public"].competition_id
    url = make_url(servers.postgres.admin_url).set(database=make_url(servers.postgres.app_url).database)
    # The own team comes first: its number precedes those of the teams that are made here.
    values = {"competition": competition, "teams": count, "entries": entries, "account": service.account}
    fill(url.render_as_string(hide_password=False), values | {"first_team": own_team.id, "start": start})
    for kind in tracks:
        service.retune(kind, 0.2)
    return service


@contextmanager
def _web(servers: Servers) -> Iterator[int]:
    """The web process with the arguments of ``kennel up``."""
    folder = Path(make_url(servers.postgres.app_url).database or "")  # only its name is used
    port = free_port()
    addresses = {
        "DATABASE_URL": servers.postgres.app_url,
        "REDIS_URL": servers.redis.url,
        "BLOB_URL": "file:///nonexistent/kennel-bench",
    }
    web = service_children({**os.environ, **addresses}, folder, port)[0]
    with Supervisor(Log(None)) as supervisor:
        supervisor.start(web)
        yield port


def _measure_waits(service: BoardService, port: int, rounds: int) -> dict[str, float]:
    """Seconds that the first reader waits after a start and after each kind of change; the slowest round."""
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600, trust_env=False) as http:

        def first_page(secret: str | None = None, **params: str) -> Any:
            headers = {"Authorization": f"Bearer {secret}"} if secret else {}
            response = http.get(BOARD, params=params, headers=headers)
            response.raise_for_status()
            return response.json()

        waits = {"cold_seconds": _timed(first_page)}
        waits["cold_private_seconds"] = _timed(lambda: first_page(ORGANIZER, track="private"))
        retuned, own_rank, private, measured = [], [], [], []
        for number in range(rounds):
            service.retune("public", 0.2 + 0.01 * (number + 1))
            retuned.append(_timed(first_page))
            own_rank.append(retuned[-1] + _timed(lambda: _own_rank(first_page)))
            service.retune("private", 0.2 + 0.01 * (number + 1))
            private.append(_timed(lambda: first_page(ORGANIZER, track="private")))
            service.measure_one(300.0 - number)
            measured.append(_timed(first_page))
        past = (datetime.now(UTC) - timedelta(days=1)).isoformat()
        waits["past_seconds"] = _timed(lambda: first_page(as_of=past))
        waits["search_seconds"] = _timed(lambda: first_page(search="team 4242"))
    return waits | {
        "retuned_seconds": max(retuned),
        "own_rank_seconds": max(own_rank),
        "private_seconds": max(private),
        "measured_seconds": max(measured),
    }


def _own_rank(first_page: Callable[..., Any]) -> None:
    if first_page(OWN)["own"] is None:
        raise AssertionError("the own team has no rank")


def _timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def _measure_throughput(service: BoardService, port: int, seconds: float, readers: int) -> dict[str, float]:
    """Responses per second: the first page, an unchanged one (304), the HTML page, and while tau changes."""
    etag = httpx.get(f"http://127.0.0.1:{port}{BOARD}", trust_env=False).headers["etag"]
    kinds = {
        "json": Load(port, BOARD, readers, seconds),
        "unchanged": Load(port, BOARD, readers, seconds, {"If-None-Match": etag}),
        "page": Load(port, PAGE, readers, seconds),
    }
    web = next(each for each in psutil.process_iter(["cmdline"]) if str(port) in (each.info["cmdline"] or ()))
    numbers: dict[str, float] = {}
    for name, load in kinds.items():
        before = _processor_seconds(web)
        result = _run(load)
        responses = result["per_second"] * result["seconds"]
        result["processor_ms"] = 1000 * (_processor_seconds(web) - before) / responses
        numbers |= {f"{name}_{key}": value for key, value in result.items()}
    with subprocess.Popen(command(kinds["json"]), cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        moves = 0
        while process.poll() is None:
            moves += 1
            service.retune("public", 0.2 + 0.001 * (moves % 50))
            time.sleep(2)
        result = json.loads(process.stdout.read() if process.stdout else "{}")
    return numbers | {f"moving_{key}": value for key, value in result.items()} | {"moving_retunes": float(moves)}


def _processor_seconds(process: psutil.Process) -> float:
    """CPU seconds of the web process so far: its cost without that of the load generator beside it."""
    used = process.cpu_times()
    return float(used.user + used.system)


def _run(load: Load) -> dict[str, float]:
    process = subprocess.run(command(load), cwd=ROOT, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(process.stdout)
    return result


def _explain(service: BoardService, folder: Path) -> None:
    """Write PostgreSQL's plan of the query that every request runs first, with its actual times."""
    folder.mkdir(parents=True, exist_ok=True)
    with service.engine.connect() as connection:
        competition = connection.scalar(
            text("SELECT competition_id FROM tracks WHERE id = :id"), {"id": service.tracks["public"]}
        )
        xmin = connection.scalar(text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"))
        query = str(NEW_CHANGES_QUERY).replace(":competition", str(competition)).replace(":horizon", str(xmin))
        _write_plan(connection, folder / "what_is_new.txt", query)


def _write_plan(connection: Any, path: Path, statement: str) -> None:
    rows = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS) {statement.replace('%', '%%')}", ())
    path.write_text("".join(f"{line}\n" for (line,) in rows))
