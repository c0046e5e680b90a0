"""A thousand open competitions, inserted directly into the tables, and one of the processes that load the database."""

import random
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from sqlalchemy import Engine, create_engine, select
from sqlalchemy.orm import Session

from benchmarks.harness.isolation import meet
from benchmarks.harness.seeding import fill, tiny_spec
from scorer.accounts import accounts
from scorer.acting import Acting
from scorer.archive import TrainingImageCopies
from scorer.blobs import ReceivedBlob
from scorer.competitions import setup
from scorer.db.tables import Account
from scorer.identifiers import new_public_id
from scorer.jobs import leases
from scorer.lifecycle import Queue
from scorer.submissions import intake, outcomes
from scorer.submissions.intake import NewSubmission

ROWS = """
INSERT INTO reference_sets (sha256, bytes, blob_key, created_by, created_at)
SELECT md5('train'), 1, 'references/train.zip', min(id), now() FROM accounts;

INSERT INTO preparations (key, extractor, image_size, signed, reference_set_ids, created_at, finished_at)
SELECT md5('train'), min(tracks.extractor), 64, false, array_agg(DISTINCT reference_sets.id), now(), now()
FROM tracks, reference_sets;

INSERT INTO competition_references (competition_id, role, reference_set_id, attached_by, attached_at)
SELECT competitions.id, 'train', reference_sets.id, created_by, now()
FROM (SELECT id FROM competitions) AS competitions, reference_sets;

UPDATE tracks SET preparation_id = (SELECT id FROM preparations);

INSERT INTO thresholds (track_id, tau, method, choice, reason, author_id, created_at)
SELECT id, 0.2, 'manual', '{}', '', NULL, now() FROM tracks;

INSERT INTO teams (competition_id, name, benchmark, created_at)
SELECT competitions.id, handle, false, now() FROM competitions, accounts WHERE role = 'participant';

INSERT INTO memberships (competition_id, team_id, account_id, joined, created_at)
SELECT competition_id, teams.id, accounts.id, true, now() FROM teams JOIN accounts ON handle = teams.name;

INSERT INTO submissions (id, competition_id, team_id, account_id, file_name, bytes, sha256, note, blob_key, status,
                         accepted_at, finished_at, copied_share, late)
SELECT 'past-' || team_id || '-' || n, competition_id, team_id, account_id, 'entry.zip', 1, md5(team_id || '-' || n),
       '', '', 'scored', now() - n * interval '1 day', now() - n * interval '1 day', 0, false
FROM memberships, generate_series(1, :entries) AS n;

INSERT INTO jobs (queue, submission_ref, track_id, team_id, state, priority, turn, due_at, attempts, created_at,
                  started_at, finished_at)
SELECT 'score', ref, tracks.id, team_id, 'done', (tracks.kind = 'private')::int, 0, accepted_at, 1, accepted_at,
       accepted_at, finished_at
FROM submissions JOIN tracks USING (competition_id);

INSERT INTO jobs (queue, submission_ref, team_id, state, priority, turn, due_at, attempts, created_at, started_at,
                  finished_at)
SELECT 'check', ref, team_id, 'done', 0, 0, accepted_at, 1, accepted_at, accepted_at, finished_at FROM submissions;

INSERT INTO measurements (job_id, submission_ref, track_id, scorer_version, fid, memorization_distance, distance_se,
                          closest_pairs, histogram, artifact_key, provenance, created_at)
SELECT id, submission_ref, track_id, '1', 20 + id % 300, 0.1 + id % 7 * 0.05, 0.001, '[]', '{}', '', '{}', created_at
FROM jobs WHERE queue = 'score';

INSERT INTO board_changes (xid, competition_id, track_id, kind, submission_refs)
SELECT 3, competition_id, track_id, 'entries', ARRAY[submission_ref]
FROM measurements JOIN tracks ON tracks.id = track_id;
"""


def build_slug(number: int) -> str:
    """The slug of a competition; numbers begin at 0."""
    return f"competition-{number}"


def build_handle(number: int) -> str:
    """The handle of a participant; numbers begin at 0. Each has a team of one in every competition."""
    return f"person-{number}"


def seed(url: str, competitions: int, people: int, *, entries: int) -> None:
    """Insert competitions and people, with ``entries`` scored entries per team. ``url`` is the database superuser's."""
    engine = create_engine(url)
    now = datetime.now(UTC)
    with Session(engine) as session, session.begin():
        organizer = accounts.create_account(session, handle="organizer", name="", role="organizer", now=now)
        for number in range(people):
            accounts.create_account(session, handle=build_handle(number), name="", role="participant", now=now)
        for number in range(competitions):
            opens_at, closes_at = now - timedelta(days=50), now + timedelta(days=10)
            limits = {"daily_limit": None, "pending_limit": 100}
            spec = tiny_spec(build_slug(number), opens_at, closes_at=closes_at, **limits)
            setup.create(Acting(session, organizer, now), spec)
    engine.dispose()
    fill(url, {"entries": entries}, ROWS)


LEASE = timedelta(hours=1)
NO_COPIES = TrainingImageCopies(0, 0, 0.0, np.full(1, -1))


@dataclass(frozen=True)
class Size:
    """Numbers of competitions, people with a team in each, and scored entries per team; and the load.

    ``workers`` in ``processes`` load the database for ``seconds``. Each first accepts ``waiting`` entries.
    """

    competitions: int = 1000
    people: int = 20
    entries: int = 10
    workers: int = 64
    processes: int = 4
    waiting: int = 30
    seconds: float = 60.0


Step = tuple[str, float]
"""A step's name and its seconds."""


def run_steps(url: str, size: Size, process: int) -> list[Step]:
    """Accept entries of random teams, meet the other processes, then accept, check and score in every thread."""
    count = size.workers // size.processes
    engine = create_engine(url, pool_size=count, connect_args={"options": "-c timezone=utc"})
    with ThreadPoolExecutor(count) as pool:
        threads = [Load(engine, size, random.Random(f"{process}-{number}")) for number in range(count)]
        list(pool.map(Load.fill, threads))
        meet()
        steps = [step for part in pool.map(Load.run, threads) for step in part]
    engine.dispose()
    return steps


class Load:
    def __init__(self, engine: Engine, size: Size, source: random.Random) -> None:
        self._engine, self._size, self._source = engine, size, source
        self._name = f"worker-{source.randrange(10**9)}"

    def fill(self) -> None:
        for _ in range(self._size.waiting):
            self._accept()

    def run(self) -> list[Step]:
        """Repeat an entry's seven transactions on the next entries."""
        steps: list[Step] = []

        def timed(name: str, act: Callable[[], leases.Claim | None]) -> leases.Claim | None:
            begun = time.monotonic()
            claim = act()
            steps.append((name, time.monotonic() - begun))
            return claim

        start = time.monotonic()
        while time.monotonic() < start + self._size.seconds:
            timed("accept", self._accept)
            for queue in (Queue.CHECK, Queue.SCORE, Queue.SCORE):
                claim = timed("claim", partial(self._claim, queue))
                if claim is not None:
                    timed("record", partial(self._record, claim))
        return steps

    def _accept(self) -> None:
        name = secrets.token_hex(32)
        slug = build_slug(self._source.randrange(self._size.competitions))
        handle = build_handle(self._source.randrange(self._size.people))
        with Session(self._engine) as session, session.begin():
            account = session.scalars(select(Account).where(Account.handle == handle)).one()
            blob, now = ReceivedBlob(f"submissions/{name}.zip", 1, name), datetime.now(UTC)
            entry, public_id = NewSubmission("entry.zip"), new_public_id()
            intake.accept(Acting(session, account, now), slug, entry, received=blob, public_id=public_id, begun=now)

    def _claim(self, queue: Queue) -> leases.Claim | None:
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            holder, now = secrets.token_hex(8), datetime.now(UTC)
            return leases.claim_job(session, queue, holder=holder, worker=self._name, now=now, lease=LEASE)

    def _record(self, claim: leases.Claim) -> None:
        now = datetime.now(UTC)
        with Session(self._engine) as session, session.begin():
            if claim.queue is Queue.CHECK:
                outcomes.pass_check(session, claim, NO_COPIES, pixels_sha256=secrets.token_hex(32), now=now)
                return
            measured = outcomes.NewMeasurement(
                scorer_version="1",
                fid=self._source.uniform(20, 300),
                memorization_distance=self._source.uniform(0, 0.5),
                distance_se=0.001,
                closest_pairs=[],
                histogram={},
                artifact_key="",
            )
            outcomes.record_measurement(session, claim, measured, now=now)
