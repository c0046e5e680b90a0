"""Re-tuning: choosing tau, saying what that does to the board, and recording it. The next read ranks with it."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer import audit
from scorer.competitions import State, track_of
from scorer.db import board, lookups
from scorer.db.tables import Account, Threshold, Track
from scorer.metrics.margin import Choice, choose_tau

MEMORISES = {"legitimate": False, "mgan": True, "sup": True, "ae": True, "aug": True}
"""What a decided label says about memorisation; ``other`` says nothing by itself."""


@dataclass(frozen=True)
class Change:
    """An entry that a new tau penalises or frees."""

    submission_id: str
    team: str
    memorization_distance: float
    label: str | None


@dataclass(frozen=True)
class Move:
    """A team whose rank a new tau changes; None where it has no rank."""

    team: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Retuning:
    """A choice of tau and what it does."""

    threshold: Threshold | None
    """The recorded row; None for a preview."""
    previous_tau: float | None
    choice: Choice
    penalised: Sequence[Change]
    freed: Sequence[Change]
    borderline: Sequence[Change]
    """Entries whose distance is within two standard errors of tau."""
    moves: Sequence[Move]


@dataclass(frozen=True)
class Request:
    """How tau shall be chosen."""

    method: str = "margin"
    alpha: float = 0.0
    tau: float | None = None
    reason: str = ""


def retune(
    session: Session,
    state: State,
    kind: str,
    request: Request,
    *,
    preview: bool,
    author: Account,
    now: datetime,
) -> Retuning:
    """Choose a track's tau by ``request.method`` and, unless this is a ``preview``, record it. ``Invalid`` when the
    method lacks what it needs: labels, both classes, held-out images, a value."""
    track = track_of(state, kind)
    current = lookups.newest_threshold(session, track.id)
    labels = lookups.decided_labels(session, state.competition.id)
    rows = board.scores_of_track(session, track.id)
    choice = _choose(track, rows, labels, request)
    retuning = _compare(session, state, track, rows, labels, choice, current)
    if preview:
        return retuning
    threshold = Threshold(
        track_id=track.id,
        tau=choice.tau,
        method=request.method,
        choice=described(choice),
        reason=request.reason,
        author_id=author.id,
        created_at=now,
    )
    session.add(threshold)
    session.flush()
    audit.record(
        session,
        "threshold.chosen",
        f"track:{state.competition.slug}/{kind}",
        actor=author,
        now=now,
        before={"tau": current.tau, "method": current.method} if current else None,
        after={"tau": choice.tau, "method": request.method, "reason": request.reason},
    )
    return replace(retuning, threshold=threshold)


def _choose(track: Track, rows: Sequence[Any], labels: dict[int, str], request: Request) -> Choice:
    return choose_tau(
        [row.memorization_distance for row in rows],
        [MEMORISES.get(labels.get(row.ref, "")) for row in rows],
        method=request.method,
        alpha=request.alpha,
        tau=request.tau,
        heldout_distance=track.preparation.heldout_distance if track.preparation else None,
        standard_errors=[row.distance_se for row in rows],
    )


def _compare(
    session: Session,
    state: State,
    track: Track,
    rows: Sequence[Any],
    labels: dict[int, str],
    choice: Choice,
    current: Threshold | None,
) -> Retuning:
    decimals = state.competition.score_decimals
    before = {row.team: row.rank for row in board.ranks(session, track.id, decimals=decimals)}
    after = {row.team: row.rank for row in board.ranks(session, track.id, decimals=decimals, tau=choice.tau)}
    then = {row.ref: row.penalised for row in board.scores_of_track(session, track.id, tau=choice.tau)}
    changed = [row for row in rows if bool(row.penalised) != then[row.ref]]

    def changes(chosen: Sequence[Any]) -> list[Change]:
        return [Change(row.id, row.team, row.memorization_distance, labels.get(row.ref)) for row in chosen]

    return Retuning(
        threshold=None,
        previous_tau=current.tau if current else None,
        choice=choice,
        penalised=changes([row for row in changed if then[row.ref]]),
        freed=changes([row for row in changed if not then[row.ref]]),
        borderline=changes([rows[index] for index in choice.borderline or ()]),
        moves=[
            Move(team, before.get(team), after.get(team))
            for team in sorted(before.keys() | after.keys(), key=lambda team: after.get(team, math.inf))
            if before.get(team) != after.get(team)
        ],
    )


def described(choice: Choice) -> dict[str, Any]:
    """What a choice found, as JSON, beside its tau and method."""
    found = asdict(choice)
    return {name: found[name] for name in found.keys() - {"tau", "method", "borderline"}}


def history(session: Session, state: State, kind: str) -> Sequence[Threshold]:
    """Every tau of a track, newest first."""
    return lookups.thresholds_of(session, track_of(state, kind).id)
