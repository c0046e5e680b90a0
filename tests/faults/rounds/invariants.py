"""Conditions that hold once a fault is over and everything is at rest. Each check yields a sentence per violation."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scorer.blobs import Blobs
from scorer.db.blob_references import COLUMNS
from scorer.db.session import build_engine, build_sessions
from scorer.jobs.broker import create_celery_app
from scorer.lifecycle import ALLOWED_STEPS, Status
from tests.faults.rounds.board_definition import defined_boards, served_board
from tests.faults.rounds.situation import Situation
from tests.faults.rounds.traffic import DAILY_LIMIT, Attempt
from worker.maintenance.cleanup import clean_up_uploads, remove_orphaned_blobs
from worker.runtime.context import WorkerContext

MUCH_LATER = timedelta(days=8)
"""Longer than the cleanup waits before it removes anything."""
CLEAN_UPS = 4
"""How often the uploads are cleaned up. The last time there is nothing to do."""
ENTRIES = (
    "SELECT s.id, s.ref, s.status, s.late, s.idempotency_key, s.team_id, s.reason FROM submissions s"
    " JOIN competitions c ON c.id = s.competition_id WHERE c.slug = %(slug)s ORDER BY s.ref"
)
MEASURED = (
    "SELECT m.submission_ref, t.kind, m.scorer_version, count(*) FROM measurements m"
    " JOIN tracks t ON t.id = m.track_id JOIN competitions c ON c.id = t.competition_id"
    " WHERE c.slug = %(slug)s GROUP BY 1, 2, 3"
)
EVENTS = (
    "SELECT e.submission_ref, e.status FROM submission_events e JOIN submissions s ON s.ref = e.submission_ref"
    " JOIN competitions c ON c.id = s.competition_id WHERE c.slug = %(slug)s ORDER BY e.id"
)
FAILED_JOBS = (
    "SELECT s.id, j.queue, j.attempts, j.error FROM jobs j JOIN submissions s ON s.ref = j.submission_ref"
    " JOIN competitions c ON c.id = s.competition_id WHERE c.slug = %(slug)s AND j.state = 'failed'"
)
STRAY_ROWS = {
    "a scoring job is done and has no measurement": "SELECT j.id FROM jobs j"
    " LEFT JOIN measurements m ON m.job_id = j.id WHERE j.queue = 'score' AND j.state = 'done' AND m.id IS NULL",
    "a measurement belongs to a job that is not done": "SELECT m.id FROM measurements m JOIN jobs j ON j.id = m.job_id"
    " WHERE j.state <> 'done'",
    "an upload is open after its time": "SELECT id FROM uploads WHERE state = 'receiving'",
    "a closed upload has parts": "SELECT id FROM uploads WHERE state <> 'receiving' AND parts <> '{}'",
    "an entry has two jobs for one purpose": "SELECT submission_ref FROM jobs WHERE submission_ref IS NOT NULL"
    " AND state <> 'cancelled' AND queue <> 'compare' GROUP BY submission_ref, queue, track_id HAVING count(*) > 1",
}
Check = Callable[[Situation], Iterable[str]]


def every_entry_ends_correctly(situation: Situation) -> Iterable[str]:
    """Every accepted entry exists once and is scored, rejected for its damage or cancelled by its team.

    It may fail only if the fault removed its zip or used up its attempts.
    """
    yield from situation.traffic.errors
    rows = _rows(situation, ENTRIES)
    by_key = {row[4]: row for row in rows}
    if len(by_key) != len(rows):
        yield f"{len(rows)} entries under {len(by_key)} keys"
    for attempt in situation.traffic.attempts:
        row = by_key.get(attempt.key)
        if attempt.accepted != ({row[0]} if row is not None else set()) and not (row and attempt.refused):
            yield f"the answer to {attempt.key} was {attempt.accepted or attempt.refused}, but its row is {row}"
        if row is not None and row[2] not in (expected := _expected(situation, attempt, row[0])):
            yield f"{attempt.key} ({attempt.kind}) is {row[2]} ({row[6]}), not {sorted(expected)}"
    for submission, queue, attempts, error in _rows(situation, FAILED_JOBS):
        if not _may_fail(situation, submission):
            yield f"the {queue} job of {submission} failed after {attempts} attempts: {error}"


def _expected(situation: Situation, attempt: Attempt, submission: str) -> set[str]:
    """The statuses that an entry may end with."""
    if attempt.cancelled:
        return {"cancelled"}
    expected = {"rejected"} if attempt.kind == "damaged" else {"scored"}
    expected |= {"cancelled"} if attempt.team == situation.traffic.cancelling else set()
    return expected | ({"failed"} if _may_fail(situation, submission) else set())


def _may_fail(situation: Situation, submission: str) -> bool:
    return submission in situation.victims or situation.any_may_fail


def one_measurement_per_track(situation: Situation) -> Iterable[str]:
    """A scored entry has exactly one measurement per track, by one scorer version. Other entries have none."""
    measured: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for ref, kind, version, count in _rows(situation, MEASURED):
        measured[ref, kind][version] += count
    for submission, ref, status, late, *_ in _rows(situation, ENTRIES):
        for kind in ("public", "private"):
            counts = measured[ref, kind]
            expected = {1} if status == "scored" and not (late and kind == "private") else {0}
            if kind == "private" and _may_fail(situation, submission):
                expected |= {0}
            if counts.total() not in expected:
                yield f"{submission} ({status}) has measurements on the {kind} track: {dict(counts)}"


def status_and_history_agree(situation: Situation) -> Iterable[str]:
    """The events of an entry are allowed steps, and the last one is its status."""
    history: dict[int, list[Status]] = defaultdict(list)
    for ref, status in _rows(situation, EVENTS):
        history[ref].append(Status(status))
    for submission, ref, status, *_ in _rows(situation, ENTRIES):
        events = history[ref]
        wrong = [f"{a} to {b}" for a, b in pairwise(events) if b not in ALLOWED_STEPS[a]]
        if events[:1] != [Status.RECEIVED] or events[-1:] != [Status(status)] or wrong:
            yield f"{submission} is {status} but its history is {[str(step) for step in events]}"


def quotas_are_right(situation: Situation) -> Iterable[str]:
    """No team exceeds its daily limit, and each team sees its current usage."""
    teams = {attempt.key: attempt.team for attempt in situation.traffic.attempts}
    used: Counter[int] = Counter()
    for _, _, status, late, key, *_ in _rows(situation, ENTRIES):
        used[teams[key]] += status not in {"rejected", "failed", "cancelled"} and not late
    for team in situation.traffic.accounts:
        with situation.traffic.direct_client(team) as client:
            limits = client.get(f"/competitions/{situation.traffic.slug}/limits")
        if used[team] > DAILY_LIMIT:
            yield f"team {team} has {used[team]} entries of {DAILY_LIMIT}"
        shown = (limits["used_today"], limits["pending"])
        if shown != (used[team], 0):
            yield f"team {team} sees (used, pending) {shown}, but has {used[team], 0}"


def boards_are_as_defined(situation: Situation) -> Iterable[str]:
    """The boards that the web process serves match their definition."""
    for kind, defined in defined_boards(situation.stack, situation.traffic.slug).items():
        served = served_board(situation.stack, situation.traffic.slug, kind)
        if served != defined:
            yield f"the {kind} board is {served}, but according to its definition {defined}"


def acts_are_kept(situation: Situation) -> Iterable[str]:
    """All confirmed publications, thresholds and picks exist."""
    if not situation.acts:
        return
    slug = situation.traffic.slug
    admin = situation.stack.admin
    history = admin.get(f"/competitions/{slug}/publication")["history"]
    if len(history) < len(situation.acts["published"]):
        yield f"{len(situation.acts['published'])} publications were confirmed, but {len(history)} are stored"
    stored = sum(
        threshold["reason"] == "race"
        for kind in ("public", "private")
        for threshold in admin.get_list(f"/competitions/{slug}/tracks/{kind}/thresholds", "thresholds")
    )
    if stored < situation.acts["thresholds"]:
        yield f"{situation.acts['thresholds']} thresholds were confirmed, but {stored} are stored"
    for team, wanted in situation.acts["picks"].items():
        with situation.traffic.direct_client(team) as client:
            picks = client.get(f"/competitions/{slug}/picks")
        if wanted and not (picks["chosen"] and set(wanted) <= set(picks["submissions"])):
            yield f"team {team} picked {wanted}, but its picks are {picks['submissions']}"
        if picks["picked_at"] is not None and picks["picked_at"] >= picks["until"]:
            yield f"team {team} picked at {picks['picked_at']}, although picks closed at {picks['until']}"


def nothing_is_left_over(situation: Situation) -> Iterable[str]:
    """After the cleanup, no row and no blob is orphaned, and no row lacks its blob."""
    stack = situation.stack
    engine = build_engine(stack.settings)
    app = create_celery_app(stack.settings)
    blobs = Blobs(stack.settings.blob_url)
    sessions = build_sessions(engine)
    context = WorkerContext(stack.settings, app, sessions, blobs, now=lambda: datetime.now(UTC) + MUCH_LATER)
    try:
        for _ in range(CLEAN_UPS):
            clean_up_uploads(context)
        remove_orphaned_blobs(context)
        with sessions() as session:
            referenced = {key for column in COLUMNS.values() for key in session.query(column) if key is not None}
    finally:
        engine.dispose()
        app.close()
    expected = {str(row[0]) for row in referenced if row[0] is not None}
    root = Path(urlsplit(stack.settings.blob_url).path)
    stored = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    lost = {f"{path.relative_to(root)}" for path, _ in situation.lost_zips.values()}
    owned = {key for key in stored if key.partition("/")[0] in {*COLUMNS, "uploads", "self-test", "entry-features"}}
    if strays := owned - expected:
        yield f"orphaned blobs: {sorted(strays)}"
    if missing := expected - stored - lost:
        yield f"missing blobs: {sorted(missing)}"
    for what, query in STRAY_ROWS.items():
        if rows := stack.rows(query):
            yield f"{what}: {rows}"


def _rows(situation: Situation, query: str) -> list[tuple[Any, ...]]:
    return situation.stack.rows(query, {"slug": situation.traffic.slug})


CHECKS: tuple[Check, ...] = (
    every_entry_ends_correctly,
    one_measurement_per_track,
    status_and_history_agree,
    quotas_are_right,
    boards_are_as_defined,
    acts_are_kept,
    nothing_is_left_over,
)
