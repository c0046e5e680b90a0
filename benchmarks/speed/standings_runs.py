"""Runs of the benchmark of the standings: HTTP requests to the web process as ``kennel up`` runs it."""

import json
import logging
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.orm import Session

from benchmarks.harness.http_load import Load, measure_load_apart
from benchmarks.harness.isolation import Run, peak_bytes, timed
from benchmarks.harness.seeding import ORGANIZER, OWN, SESSION, SLUG, fill, migrated_servers, tiny_spec
from benchmarks.harness.visitor_runs import measure_visitors
from benchmarks.speed.standings_requests import BOARD, PAGE, REQUESTS, THRESHOLDS, compute_round_tau
from deploy.standalone.ephemeral import Servers
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port
from deploy.standalone.service import service_children
from deploy.standalone.supervisor import Supervisor
from scorer.accounts import accounts, api_tokens, sessions
from scorer.acting import Acting
from scorer.competitions import competition_state, setup
from scorer.db.leaderboard.changes import NEW_CHANGES_QUERY
from scorer.lifecycle import TrackKind
from scorer.settings import Settings
from scorer.teams import teams

log = logging.getLogger(__name__)
DECIMALS = 5
MOVING_READERS = 12
"""Readers while tau moves: so few that they hardly wait for each other."""
MANY = 4
"""Number of processes in the measurement of several web processes."""
RETUNES_SEEN = 5
"""Re-tunes per web process. After each, the next answer of any process must show the new tau."""
BLOBS = "file:///nonexistent/kennel-bench"
RATES = json.dumps({"request": "1000000/minute"})
"""One address sends all requests here, and an answer with a million rows counts as many requests."""
AGE = timedelta(days=12)
"""How long ago the competition began. Its entries arrived evenly over the first ten days."""


@dataclass(frozen=True)
class BoardService:
    """The seeded competition, with the service's access to the database."""

    engine: Engine
    tracks: dict[TrackKind, int]
    own_team: int

    def measure_one(self, fid: float) -> None:
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


def measure(entries: int, teams: int, rounds: int, *, seconds: float, readers: int, plans: str) -> Run:
    """All measurements of one competition, by name. Writes the query plan to the folder ``plans``."""
    with migrated_servers() as (servers, admin_url):
        log.info("filling a competition of %d entries", entries)
        service = _competition(servers.postgres.app_url, admin_url, entries, count=teams)
        log.info("sending requests")
        settings = Settings(database_url=servers.postgres.app_url, redis_url=servers.redis.url, blob_url=BLOBS)
        with _web(servers) as port:
            numbers = _measure_waits(service, port, rounds)
            numbers["waits_web_bytes"] = _peak_since_last(port)
            numbers |= _measure_requests(port, rounds)
            numbers |= measure_visitors(port, _web_process(port), settings)
            numbers |= _measure_throughput(port, seconds, readers)
            numbers["reading_web_bytes"] = _peak_since_last(port)
            numbers["web_bytes"] = max(value for name, value in numbers.items() if name.endswith("_web_bytes"))
        with _web(servers, MANY) as port:
            numbers |= _measure_many(port, seconds, readers)
        _explain(service, Path(plans))
        service.engine.dispose()
    return numbers | {"seconds": numbers["retuned_seconds"]}


def _measure_requests(port: int, rounds: int) -> dict[str, float]:
    """For each request: the first time's seconds, the slowest later round, and the largest body."""
    numbers: dict[str, float] = {}
    with _client(port) as http:
        for request in REQUESTS:
            first, *later = [request.send(http, number) for number in range(rounds + 1)]
            log.info("%s: %.3f s, then %.3f s", request.name, first.seconds, later[0].seconds)
            numbers |= {
                f"{request.name}_first_time_seconds": first.seconds,
                f"{request.name}_seconds": max(answer.seconds for answer in later),
                f"{request.name}_first_byte_seconds": max(answer.first_byte for answer in later),
                f"{request.name}_bytes": float(max(answer.size for answer in later)),
                f"{request.name}_web_bytes": _peak_since_last(port),
            }
    return numbers


def _client(port: int, secret: str | None = None) -> httpx.Client:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600, trust_env=False, headers=headers)


def _retune(http: httpx.Client, kind: TrackKind, tau: float) -> None:
    body = {"method": "manual", "tau": tau, "reason": "benchmark"}
    http.post(THRESHOLDS.replace("public", kind), json=body).raise_for_status()


def _competition(url: str, admin_url: str, entries: int, *, count: int) -> BoardService:
    engine = create_engine(url, connect_args={"options": "-c timezone=utc"})
    now = datetime.now(UTC)
    start = now - AGE
    with Session(engine, expire_on_commit=False) as session, session.begin():
        organizer = accounts.create_account(session, handle="organizer", name="", role="organizer", now=now)
        reader = accounts.create_account(session, handle="reader", name="", role="participant", now=now)
        for account, secret in ((organizer, ORGANIZER), (reader, OWN)):
            api_tokens.issue(session, account, secret, name="bench", now=now)
        sessions.begin(session, organizer, secret=SESSION, browser=sessions.Browser("127.0.0.1"), now=now)
        setup.create(Acting(session, organizer, start), tiny_spec(SLUG, start, score_decimals=DECIMALS))
        tracks = competition_state.load_state(session, SLUG, now).tracks
        own_team = teams.find_or_create_team(Acting(session, reader, now), tracks["public"].competition_id)
        service = BoardService(engine, {kind: track.id for kind, track in tracks.items()}, own_team.id)
        competition = tracks["public"].competition_id
    # The own team has the lowest number, so it comes before the teams made here.
    values: dict[str, object] = {"competition": competition, "teams": count, "entries": entries, "account": reader.id}
    values |= {"first_team": own_team.id, "start": start, "step": timedelta(days=10) / entries}
    fill(admin_url, values)
    return service


@contextmanager
def _web(servers: Servers, processes: int = 1) -> Iterator[int]:
    """One or several web processes with the arguments of ``kennel up``."""
    folder, port = Path("bench"), free_port()  # only the folder's name is used
    addresses = {
        "DATABASE_URL": servers.postgres.app_url,
        "REDIS_URL": servers.redis.url,
        "BLOB_URL": BLOBS,
        "KENNEL_RATES": RATES,
        "KENNEL_WEB_PROCESSES": str(processes),
    }
    web = service_children({**os.environ, **addresses}, folder, port, web_processes=processes)[0]
    with Supervisor(Log(None)) as supervisor:
        supervisor.start(web)
        yield port


def _measure_waits(service: BoardService, port: int, rounds: int) -> dict[str, float]:
    """The first reader's wait in seconds, after a start and after each kind of change, in the slowest round."""
    with _client(port) as http, _client(port, ORGANIZER) as organizer:

        def first_page(client: httpx.Client = http, **params: str) -> Any:
            response = client.get(BOARD, params=params)
            response.raise_for_status()
            return response.json()

        def own_rank() -> None:
            headers = {"Authorization": f"Bearer {OWN}"}
            if http.get(BOARD, headers=headers).raise_for_status().json()["own"] is None:
                raise AssertionError("the own team has no rank")

        waits = {"cold_seconds": timed(first_page)["seconds"]}
        waits["cold_private_seconds"] = timed(lambda: first_page(organizer, track="private"))["seconds"]
        retuned, own, private, measured = [], [], [], []
        for number in range(rounds):
            begun = time.perf_counter()
            _retune(organizer, "public", compute_round_tau(number))
            first_page()
            retuned.append(time.perf_counter() - begun)
            own.append(retuned[-1] + timed(own_rank)["seconds"])
            _retune(organizer, "private", compute_round_tau(number))
            private.append(timed(lambda: first_page(organizer, track="private"))["seconds"])
            service.measure_one(300.0 - number)
            measured.append(timed(first_page)["seconds"])
    return waits | {
        "retuned_seconds": max(retuned),
        "own_rank_seconds": max(own),
        "private_seconds": max(private),
        "measured_seconds": max(measured),
    }


def _measure_throughput(port: int, seconds: float, readers: int) -> dict[str, float]:
    """Responses per second: the first page, an unchanged one (304), the HTML page, and while tau changes.

    Each load has separate readers, because the requests of an address are limited.
    """
    etag = httpx.get(f"http://127.0.0.1:{port}{BOARD}", trust_env=False).headers["etag"]
    kinds = {
        "json": Load(port, BOARD, readers, seconds),
        "unchanged": Load(port, BOARD, readers, seconds, {"If-None-Match": etag}, first=readers),
        "page": Load(port, PAGE, readers, seconds, first=2 * readers),
    }
    web = _web_process(port)
    numbers: dict[str, float] = {}
    for name, load in kinds.items():
        before = sum(web.cpu_times()[:2])
        result = _run(load)
        responses = result["per_second"] * result["seconds"]
        result["processor_ms"] = 1000 * (sum(web.cpu_times()[:2]) - before) / responses
        numbers |= {f"{name}_{key}": value for key, value in result.items()}
    moves = 0
    with _client(port, ORGANIZER) as organizer, ThreadPoolExecutor(1) as pool:
        moving = pool.submit(_run, Load(port, BOARD, MOVING_READERS, seconds, first=3 * readers))
        while not moving.done():
            moves += 1
            _retune(organizer, "public", 0.2 + 0.001 * (moves % 50))
            time.sleep(2)
    numbers |= {f"moving_{key}": value for key, value in moving.result().items()}
    return numbers | {"moving_retunes": float(moves)}


def _peak_since_last(port: int) -> float:
    """Peak resident memory of the web process, in bytes, since the last call."""
    pid = _web_process(port).pid
    peak = float(peak_bytes(pid))
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # Linux: resets the peak to the current use
    return peak


def _web_process(port: int) -> psutil.Process:
    processes = psutil.process_iter(["cmdline"])
    return next(process for process in processes if str(port) in (process.info["cmdline"] or ()))


def _measure_many(port: int, seconds: float, readers: int) -> dict[str, float]:
    """Several web processes: first pages a second, memory, and answers that show an old tau after a re-tune."""
    loads = [Load(port, BOARD, readers, seconds, first=(4 + run) * readers) for run in range(2)]
    _run(loads[0])  # every process fills its cache
    result = _run(loads[1])
    numbers = {f"many_{key}": value for key, value in result.items()}
    old = 0
    with _client(port, ORGANIZER) as organizer:
        for number in range(MANY * RETUNES_SEEN):
            tau = 0.3 + 0.001 * number
            _retune(organizer, "public", tau)
            # Each answer has its own connection, because the first free process takes it.
            answer = httpx.get(f"http://127.0.0.1:{port}{BOARD}", trust_env=False, timeout=600).json()
            old += answer["tau"] != tau
    processes = _web_process(port).children(recursive=True)
    numbers["many_old_answers"] = float(old)
    numbers["many_bytes"] = float(sum(peak_bytes(process.pid) for process in processes))
    return numbers


def _run(load: Load) -> Run:
    """Run a load. Raises ``RuntimeError`` if an answer was an error, which would count as a quick answer."""
    run = measure_load_apart(load)
    if run.pop("errors"):
        raise RuntimeError(f"some answers were errors: {run}")
    return run


def _explain(service: BoardService, folder: Path) -> None:
    """Write PostgreSQL's plan of the first query of every request, with its actual times."""
    folder.mkdir(parents=True, exist_ok=True)
    with service.engine.connect() as connection:
        competition = connection.scalar(
            text("SELECT competition_id FROM tracks WHERE id = :id"), {"id": service.tracks["public"]}
        )
        xmin = connection.scalar(text("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"))
        query = str(NEW_CHANGES_QUERY).replace(":competition", str(competition)).replace(":horizon", str(xmin))
        rows = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS) {query.replace('%', '%%')}", ())
        (folder / "what_is_new.txt").write_text("".join(f"{line}\n" for (line,) in rows))
