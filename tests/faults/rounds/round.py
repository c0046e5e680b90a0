"""One round: teams upload, a seeded fault happens, and every invariant is checked once everything is at rest."""

import threading
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import psycopg2

from scorer.lifecycle import utc_day
from tests.faults.rounds.fault_kinds import BEFORE, KINDS, SECOND, SECOND_SHARE
from tests.faults.rounds.invariants import CHECKS
from tests.faults.rounds.situation import Situation, Skipped
from tests.faults.rounds.stack import LEASE_SECONDS, OWN_PARTS, Stack, until
from tests.faults.rounds.steps import UNFINISHED_JOBS
from tests.faults.rounds.traffic import make_traffic

OUTAGE_SECONDS = (2.0, 8.0)
"""Shortest and longest outage. Some are longer than a lease."""
REST_SECONDS = 150.0
"""Maximum wait until everything is at rest."""


@dataclass
class Outcome:
    """The result of a round."""

    seed: int
    kinds: list[str]
    skipped: str | None = None
    faults: list[str] = field(default_factory=list)
    entries: dict[str, int] = field(default_factory=dict)
    """The number of attempts, and of entries by status."""
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0
    lease: int = LEASE_SECONDS

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def draw_plan(seed: int) -> list[str]:
    """The kinds of fault of a round. Kinds take turns, and some seeds have a second one."""
    names = tuple(KINDS)
    rng = Random(f"plan {seed}")
    first = names[seed % len(names)]
    second = [rng.choice(SECOND)] if rng.random() < SECOND_SHARE else []
    return [first, *(kind for kind in second if kind != first)]


def run_round(stack: Stack, seed: int, kinds: list[str] | None = None) -> Outcome:
    """Run the round of a seed. ``kinds`` replace those of its plan."""
    began = time.monotonic()
    outcome = Outcome(seed, kinds or draw_plan(seed))
    try:
        _run(stack, outcome)
    except Skipped as reason:
        outcome.skipped = str(reason)
    except Exception:  # noqa: BLE001 - after any error, the round has proved nothing
        outcome.violations.append(f"the round was aborted: {traceback.format_exc()}")
    if stack.supervisor.failure is not None:
        outcome.violations.append(f"the service has ended: {stack.supervisor.failure}")
    outcome.seconds = round(time.monotonic() - began, 1)
    return outcome


def _run(stack: Stack, outcome: Outcome) -> None:
    _wait_for_a_whole_day()
    stack.forgive_crashes()
    until(stack.is_ready, "the service to be ready", REST_SECONDS)
    traffic = make_traffic(stack, outcome.seed)
    situations = []
    for number, kind in enumerate(outcome.kinds):
        rng = Random(f"{outcome.seed} {number} {kind}")
        situations.append(Situation(stack, traffic, rng, rng.uniform(*OUTAGE_SECONDS)))
    if outcome.kinds[0] not in BEFORE:
        traffic.begin.set()
    with traffic.running():
        _inject(outcome, situations)
    situation = _joined(situations)
    outcome.faults = situation.log
    wait_for_rest(stack, traffic.slug)
    outcome.violations += _broken(situation)
    outcome.entries = _counts(stack, traffic.slug) | {"attempts": len(traffic.attempts)}
    if situation.lost_zips and not outcome.violations:
        _restore(situation)
        outcome.violations += [f"after the zip was restored: {sentence}" for sentence in _broken(situation)]


def _wait_for_a_whole_day() -> None:
    """Do not begin a round in the last minutes of a UTC day, because entries count towards a daily limit."""
    moment = datetime.now(UTC)
    left = (utc_day(moment)[1] - moment).total_seconds()
    if left < 2 * REST_SECONDS:
        time.sleep(left + 1)


def _inject(outcome: Outcome, situations: list[Situation]) -> None:
    """Run each fault in its own thread."""
    skipped: list[Skipped] = []

    def inject(kind: str, situation: Situation) -> None:
        try:
            KINDS[kind](situation)
        except Skipped as reason:
            skipped.append(reason)
        except Exception:  # noqa: BLE001
            outcome.violations.append(f"the fault {kind} was aborted: {traceback.format_exc()}")

    threads = [
        threading.Thread(target=inject, args=pair, daemon=True) for pair in zip(outcome.kinds, situations, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if skipped:
        raise skipped[0]


def _joined(situations: list[Situation]) -> Situation:
    """The first fault's situation, merged with those of the others."""
    first = situations[0]
    for other in situations[1:]:
        first.log += other.log
        first.victims |= other.victims
        first.lost_zips |= other.lost_zips
        first.any_may_fail |= other.any_may_fail
    return first


def wait_for_rest(stack: Stack, slug: str) -> None:
    """Wait until all parts run and the round has no unfinished jobs, entries or uploads."""

    def is_at_rest() -> bool:
        with suppress(psycopg2.Error):
            return stack.rows(UNFINISHED_JOBS, {"slug": slug}) == [(0, 0, 0)]
        return False

    until(stack.is_ready, "the service to be ready again", REST_SECONDS)
    until(lambda: all(stack.processes(name) for name in OWN_PARTS), "all parts to run again", REST_SECONDS)
    try:
        until(is_at_rest, "everything to be at rest", REST_SECONDS)
    except TimeoutError:
        query = (
            "SELECT j.id, j.queue, j.state, j.attempts, j.deferrals, j.worker, j.due_at - now(), j.lease_until - now(),"
            " j.error FROM jobs j WHERE j.state IN ('waiting', 'running')"
        )
        unfinished = stack.rows(UNFINISHED_JOBS, {"slug": slug})
        raise TimeoutError(f"not at rest (jobs, entries, uploads): {unfinished}; {stack.rows(query)}") from None


def _broken(situation: Situation) -> list[str]:
    return [f"{check.__name__}: {sentence}" for check in CHECKS for sentence in check(situation)]


def _restore(situation: Situation) -> None:
    """Restore lost zips, as an operator does from a backup, and queue the failed jobs again."""
    for path, body in situation.lost_zips.values():
        path.write_bytes(body)
    situation.lost_zips.clear()
    situation.victims.clear()
    situation.stack.admin.post("/admin/jobs/requeue", {})
    wait_for_rest(situation.stack, situation.traffic.slug)


def _counts(stack: Stack, slug: str) -> dict[str, int]:
    query = (
        "SELECT s.status, count(*) FROM submissions s JOIN competitions c ON c.id = s.competition_id"
        " WHERE c.slug = %(slug)s GROUP BY 1 ORDER BY 1"
    )
    return dict(stack.rows(query, {"slug": slug}))
