"""Findings of the last hour: wrong refusals, wrong estimates of the wait, unfair turns."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select

from benchmarks.harness.isolation import Run
from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkResult
from benchmarks.load.last_hour_plan import Attempt
from scorer.db.session import Sessions
from scorer.db.tables import Competition, Job, Submission
from scorer.lifecycle import Queue, Status

TOLERANCE = 0.3
"""An estimate is right if it is off by no more than this share of the actual wait."""
GRAIN_SECONDS = 2.0
"""An estimate is also right if it is off by no more than this.

Estimates are in whole seconds and are read once a second. The hour is compressed, the clock is not.
"""
CLOSE_SECONDS = 1.0
"""The service may answer a request after the deadline if it was sent less than this before the deadline."""
PENDING_LIMIT = 2
WAITING = (Status.RECEIVED, Status.CHECKING, Status.QUEUED)


@dataclass(frozen=True)
class Refused:
    """A refusal of a team's request, with the times of request and answer (seconds since 1970) and the reason."""

    team: int
    sent: float
    answered: float
    status: int
    reason: str

    @property
    def is_for_pending(self) -> bool:
        return "pending" in self.reason or "in progress" in self.reason

    @property
    def is_error(self) -> bool:
        return self.status >= 500 or self.status == 0

    @property
    def is_for_close(self) -> bool:
        return "closed" in self.reason


@dataclass(frozen=True)
class ShownEstimate:
    entry: str
    at: float
    status: str
    estimate: int | None


@dataclass
class Story:
    closes_at: float = 0.0
    attempts: int = 0
    accepted: dict[str, Attempt] = field(default_factory=dict)
    sent: dict[str, tuple[float, float]] = field(default_factory=dict)
    """When each accepted entry was sent, and when the service answered."""
    refused: list[Refused] = field(default_factory=list)
    estimates: list[ShownEstimate] = field(default_factory=list)
    broken_streams: int = 0


@dataclass(frozen=True)
class Entry:
    """A submission in the database; times in seconds since 1970."""

    team: int
    status: str
    accepted_at: float
    finished_at: float


@dataclass(frozen=True)
class ScoreJob:
    team: int
    created_at: float
    started_at: float
    finished_at: float


@dataclass(frozen=True)
class Outcome:
    entries: Mapping[str, Entry]
    scores: Sequence[ScoreJob]


def read_outcome(sessions: Sessions, slug: str) -> Outcome:
    """Read every submission of a competition and its public scores."""
    with sessions() as session:
        competition = session.scalars(select(Competition.id).where(Competition.slug == slug)).one()
        entries = {
            row.id: Entry(row.team_id, row.status, row.accepted_at.timestamp(), _timestamp(row.finished_at))
            for row in session.scalars(select(Submission).where(Submission.competition_id == competition))
        }
        jobs = session.scalars(select(Job).where(Job.queue == Queue.SCORE, Job.priority == 0, Job.state == "done"))
        scores = [
            ScoreJob(job.team_id, *map(_timestamp, (job.created_at, job.started_at, job.finished_at)))
            for job in jobs
            if job.team_id is not None
        ]
    return Outcome(entries, scores)


def _timestamp(moment: datetime | None) -> float:
    return float("inf") if moment is None else moment.timestamp()


def compute_findings(story: Story, outcome: Outcome, compression: float) -> Run:
    """All numbers of the hour. Waits are in simulated seconds, not in real time."""
    statuses = Counter(entry.status for entry in outcome.entries.values())
    scored = {name: entry for name, entry in outcome.entries.items() if entry.status == Status.SCORED}
    waits = sorted(compression * (entry.finished_at - entry.accepted_at) for entry in scored.values())
    ways = Counter(attempt.way for attempt in story.accepted.values())
    return {
        "attempts": float(story.attempts),
        "accepted": float(len(story.accepted)),
        **{f"accepted_{way}": float(count) for way, count in ways.items()},
        "in_database": float(len(outcome.entries)),
        "scored": float(statuses[Status.SCORED]),
        "rejected": float(statuses[Status.REJECTED]),
        "failed": float(statuses[Status.FAILED]),
        "wrong_outcomes": float(_wrong_outcomes(story, outcome)),
        "refused_pending": float(sum(refusal.is_for_pending for refusal in story.refused)),
        "refused_closed": float(sum(refusal.is_for_close for refusal in story.refused)),
        "server_errors": float(sum(refusal.is_error for refusal in story.refused)),
        "wrongly_refused": float(_wrongly_refused(story, outcome)),
        "wrongly_accepted": float(sum(sent >= story.closes_at for sent, _ in story.sent.values())),
        "broken_streams": float(story.broken_streams),
        "answer_median_ms": 1000 * statistics.median(end - begin for begin, end in story.sent.values()),
        "answer_max_ms": 1000 * max(end - begin for begin, end in story.sent.values()),
        "wait_median": waits[len(waits) // 2],
        "wait_max": waits[-1],
        "drained_after_close": compression * (max(entry.finished_at for entry in scored.values()) - story.closes_at),
        **_estimates(story.estimates, scored),
        **measure_fairness(outcome.scores),
    }


def _wrong_outcomes(story: Story, outcome: Outcome) -> int:
    """Accepted entries with a wrong outcome. A sound zip must be scored, a faulty one rejected."""
    return sum(
        name not in outcome.entries
        or outcome.entries[name].status != (Status.REJECTED if attempt.faulty else Status.SCORED)
        for name, attempt in story.accepted.items()
    )


def _wrongly_refused(story: Story, outcome: Outcome) -> int:
    """Refusals without a valid reason: before the deadline, below the limit of entries in progress, or any other."""
    teams = {attempt.team: outcome.entries[name].team for name, attempt in story.accepted.items()}
    return sum(
        not _is_right(refusal, story.closes_at, outcome.entries.values(), teams=teams) for refusal in story.refused
    )


def _is_right(refused: Refused, closes_at: float, entries: Iterable[Entry], *, teams: Mapping[int, int]) -> bool:
    if refused.is_for_close:
        return refused.sent >= closes_at - CLOSE_SECONDS
    if refused.is_for_pending:
        own = (entry for entry in entries if entry.team == teams.get(refused.team))
        return sum(e.accepted_at <= refused.answered and e.finished_at >= refused.sent for e in own) >= PENDING_LIMIT
    return False


def is_right_estimate(estimate: float, actual: float, *, grain: float = 0.0) -> bool:
    """Whether an estimate is within the tolerance of the actual wait, or within ``grain`` seconds of it."""
    return abs(estimate - actual) <= max(TOLERANCE * actual, grain)


def _estimates(states: Iterable[ShownEstimate], scored: Mapping[str, Entry]) -> Run:
    """The shares of right estimates: among each entry's first one, and among all while it waited."""
    first: dict[str, tuple[float, float]] = {}
    waiting: list[tuple[float, float]] = []
    missing = 0
    for state in states:
        if state.entry not in scored or state.status not in WAITING:
            continue
        if state.estimate is None:
            missing += state.entry not in first
            continue
        pair = (float(state.estimate), scored[state.entry].finished_at - state.at)
        first.setdefault(state.entry, pair)
        waiting.append(pair)
    return {
        "estimates_first": float(len(first)),
        "estimates_waiting": float(len(waiting)),
        "states_without_estimate": float(missing),
        **{
            f"right_{name}{suffix}": sum(is_right_estimate(*pair, grain=grain) for pair in pairs) / max(1, len(pairs))
            for name, pairs in (("first", list(first.values())), ("waiting", waiting))
            for suffix, grain in (("", GRAIN_SECONDS), ("_strictly", 0.0))
        },
    }


def measure_fairness(scores: Sequence[ScoreJob]) -> Run:
    """Scores of one other team that began while a team's n-th entry waited, minus n. In strict turns, never above 0."""
    by_team: dict[int, list[ScoreJob]] = defaultdict(list)
    for job in scores:
        by_team[job.team].append(job)
    excesses = [_excess(job, by_team, _longest_waiting_since(job, scores)) for job in scores]
    firsts = [excess for number, excess in excesses if number == 1]
    return {
        "fairness_first_entries": float(len(firsts)),
        "fairness_first_unfair": float(sum(excess > 0 for excess in firsts)),
        "fairness_later_entries": float(len(excesses) - len(firsts)),
        "fairness_later_unfair": float(sum(number > 1 and excess > 0 for number, excess in excesses)),
        "fairness_largest_excess": float(max(excess for _, excess in excesses)),
    }


def _longest_waiting_since(job: ScoreJob, scores: Iterable[ScoreJob]) -> float:
    """When the longest-waiting score was queued, at the moment when ``job`` was queued."""
    waiting = (score.created_at for score in scores if score.created_at <= job.created_at < score.started_at)
    return min(waiting, default=job.created_at)


def _excess(job: ScoreJob, by_team: Mapping[int, Sequence[ScoreJob]], since: float) -> tuple[int, int]:
    """The number of a score among its team's entries, and the excess of another team's scores that began before it.

    It is the first unless others of the team are in progress or have begun ``since``.
    """
    own = by_team[job.team]
    number = 1 + sum(
        score.created_at < job.created_at and (job.created_at < score.finished_at or since < score.started_at)
        for score in own
    )
    others = (
        sum(job.created_at < other.started_at < job.started_at for other in jobs)
        for team, jobs in by_team.items()
        if team != job.team
    )
    return number, max(others, default=0) - number


MIN_RIGHT_SHARE = 0.9


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    run, settings = case.numbers, case.settings
    compression = 3600 / settings["played_seconds"]
    names = {"api": "the API", "client": "Kennel's client", "wire": "the kaggle protocol"}
    ways = ", ".join(f"{run[f'accepted_{way}']:.0f} through {name}" for way, name in names.items())
    answered = ", ".join(f"{run[f'answer_{kind}_ms'] / 1000:.2f}" for kind in ("median", "max"))
    outcomes = [
        ("attempts", f"{run['attempts']:,.0f}"),
        ("accepted", f"{run['accepted']:,.0f}: {ways}"),
        ("scored", f"{run['scored']:,.0f}"),
        ("rejected because the zip was faulty", f"{run['rejected']:.0f}"),
        ("failed because of the service", f"{run['failed']:.0f}"),
        ("refused because two entries were in progress", f"{run['refused_pending']:.0f}"),
        ("refused after the deadline", f"{run['refused_closed']:.0f}"),
        ("repeated because the service did not respond", f"{run['server_errors']:.0f}"),
        ("refused without a reason, including those repeated", f"{run['wrongly_refused']:.0f}"),
        ("response to an upload, median and longest, s of real time", answered),
        ("wait for the score, median and longest, min", f"{run['wait_median'] / 60:.0f}, {run['wait_max'] / 60:.0f}"),
        ("last score after the deadline, min", f"{run['drained_after_close'] / 60:.0f}"),
    ]
    grain = f"or {GRAIN_SECONDS:g} s of real time ({GRAIN_SECONDS * compression:.0f} s simulated)"
    times = [
        (
            name,
            f"{run[f'estimates_{key}']:,.0f}",
            *(f"{100 * run[f'right_{key}{how}']:.1f} %" for how in ("_strictly", "")),
        )
        for name, key in (("first estimate after acceptance", "first"), ("all estimates while waiting", "waiting"))
    ]
    turns = [
        (name, f"{run[f'fairness_{which}_entries']:,.0f}", f"{run[f'fairness_{which}_unfair']:.0f}")
        for name, which in (("a team's first entry", "first"), ("a further entry", "later"))
    ]
    never = {
        "entries with a wrong outcome": "wrong_outcomes",
        "refusals without a reason": "wrongly_refused",
        "first entries overtaken unfairly": "fairness_first_unfair",
        "further entries overtaken unfairly": "fairness_later_unfair",
    }
    title = f"{settings['teams']} teams, {settings['workers']} workers, time shortened by a factor of {compression:g}"
    waited = {kind: [run[f"{kind}_seconds_{end}"] for end in ("shortest", "longest")] for kind in ("public", "private")}
    return Findings(
        [
            MarkdownTable(title, ("", ""), outcomes),
            MarkdownTable("Estimates of the wait", ("", "estimates", f"off by at most {TOLERANCE:.0%}", grain), times),
            MarkdownTable("Order of scoring", ("", "entries", "overtaken unfairly"), turns),
        ],
        [
            *(Target(claim, run[key], 0, False) for claim, key in never.items()),
            Target("accurate estimates at acceptance", run["right_first"], MIN_RIGHT_SHARE, True),
            Target("accurate estimates while waiting", run["right_waiting"], MIN_RIGHT_SHARE, True),
        ],
        [
            f"Before the first scores, {run['states_without_estimate']:.0f} status updates had no estimate.",
            *(
                f"A {kind} score took {low:.0f} to {high:.0f} simulated seconds."
                for kind, (low, high) in waited.items()
            ),
        ],
    )
