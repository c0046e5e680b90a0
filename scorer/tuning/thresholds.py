"""Thresholds: choosing a track's tau, its impact on the board, recording the choice, undoing it.

A choice is one inserted row; the next read of the board ranks with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.competitions.competition_state import CompetitionState, track_of
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.leaderboard.scores import Score
from scorer.db.tables import Account, Threshold, Track
from scorer.errors import Conflict, Invalid
from scorer.leaderboard.rows import read_ranked_board
from scorer.lifecycle import TrackKind
from scorer.metrics.statistics.threshold_selection import METHODS, ThresholdChoice, choose_tau
from scorer.ranking.vectorised import RankedBoard, order_of
from scorer.submissions.labels import LabelInfo, label_info_of
from scorer.tuning.impact import (
    MedalMove,
    PenaltyChange,
    RankMove,
    ReviewWorkload,
    medal_moves_of,
    moves_of,
    review_workload_of,
)

AUTOMATIC = tuple(method for method in METHODS if method != "manual")
UNDO = "undo"


@dataclass(frozen=True)
class Retuning:
    """A choice of tau and its impact on the board."""

    threshold: Threshold | None
    """The recorded row; None for a preview."""
    previous_tau: float | None
    choice: ThresholdChoice
    penalised: Sequence[PenaltyChange]
    freed: Sequence[PenaltyChange]
    borderline: Sequence[PenaltyChange]
    """Entries whose distance is within two standard errors of tau."""
    moves: Sequence[RankMove]
    medals: Sequence[MedalMove]
    reviews: ReviewWorkload
    """What is left to review until no medal place is held by a memorising entry, with this tau."""
    reviews_before: ReviewWorkload
    """The same with the previous tau."""


@dataclass(frozen=True)
class TuningRequest:
    """How to choose tau; ``tau`` is for the method ``manual``, ``alpha`` for ``margin``."""

    method: str = "margin"
    alpha: float = 0.0
    tau: float | None = None
    reason: str = ""
    after: int | None = None
    """The id of the threshold that the organizer saw; ``Conflict`` (``tau-has-moved``) if it is not the newest."""


@dataclass(frozen=True)
class Option:
    """What one method would choose, or why it cannot (``lacks``)."""

    method: str
    choice: ThresholdChoice | None
    lacks: Invalid | None


def retune(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    request: TuningRequest,
    *,
    preview: bool,
    author: Account,
    now: datetime,
) -> Retuning:
    """Choose a track's tau by ``request.method`` and, unless this is a ``preview``, record it. ``Invalid`` if the
    method lacks an input: labels, both classes, held-out images, a value."""
    track = track_of(state, kind)
    if not preview:
        tuning.lock_track(session, track.id)
    current = tuning.newest_threshold(session, track.id)
    _require_newest(current, request.after)
    labels = label_info_of(session, state.competition.id)
    rows = board.scores_of_track(session, track.id)
    choice = _choose(track, rows, labels, request)
    retuning = _compare(session, state, track, rows, labels, choice, current)
    if preview:
        return retuning
    threshold = Threshold(
        track_id=track.id,
        tau=choice.tau,
        method=request.method,
        choice=choice_as_json(choice),
        reason=request.reason,
        author_id=author.id,
        created_at=now,
    )
    _record(session, f"track:{state.competition.slug}/{kind}", threshold, current, author)
    return replace(retuning, threshold=threshold)


def undo(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    *,
    reason: str,
    after: int | None,
    author: Account,
    now: datetime,
) -> Retuning:
    """Undo a track's newest choice of tau: a new row restores the one before it. A second undo goes one further back.
    ``Conflict`` (``nothing-to-undo``) if there is none before it."""
    track = track_of(state, kind)
    tuning.lock_track(session, track.id)
    standing = effective_thresholds(tuning.thresholds_of(session, track.id))
    current = tuning.newest_threshold(session, track.id)
    _require_newest(current, after)
    if len(standing) < 2:
        raise Conflict("nothing-to-undo", "There is no earlier tau to go back to.")
    target, undone = standing[-2], standing[-1]
    labels = label_info_of(session, state.competition.id)
    rows = board.scores_of_track(session, track.id)
    choice = _choose(track, rows, labels, TuningRequest("manual", tau=target.tau))
    retuning = _compare(session, state, track, rows, labels, choice, current)
    threshold = Threshold(
        track_id=track.id,
        tau=target.tau,
        method=UNDO,
        choice=target.choice | {"restores": target.id, "undoes": undone.id},
        reason=reason,
        author_id=author.id,
        created_at=now,
    )
    _record(session, f"track:{state.competition.slug}/{kind}", threshold, current, author)
    return replace(retuning, threshold=threshold)


def effective_thresholds(newest_first: Sequence[Threshold]) -> list[Threshold]:
    """The choices that no undo has taken back, oldest first; the next undo takes back the last one."""
    standing: list[Threshold] = []
    for row in reversed(newest_first):
        if row.method == UNDO:
            standing.pop()
        else:
            standing.append(row)
    return standing


def method_options(session: Session, state: CompetitionState, kind: TrackKind, *, alpha: float = 0.0) -> list[Option]:
    """What every automatic method would choose now, or why it cannot."""
    track = track_of(state, kind)
    labels = label_info_of(session, state.competition.id)
    rows = board.scores_of_track(session, track.id)

    def option(method: str) -> Option:
        try:
            return Option(method, _choose(track, rows, labels, TuningRequest(method, alpha)), None)
        except Invalid as error:
            return Option(method, None, error)

    return [option(method) for method in AUTOMATIC]


def _require_newest(current: Threshold | None, after: int | None) -> None:
    if after is not None and (current is None or current.id != after):
        raise Conflict("tau-has-moved", "Somebody has chosen another tau since; please look at the board again.")


def _record(session: Session, subject: str, threshold: Threshold, current: Threshold | None, author: Account) -> None:
    session.add(threshold)
    session.flush()
    audit_log.record_action(
        session,
        "threshold.undone" if threshold.method == UNDO else "threshold.chosen",
        subject,
        actor=author,
        now=threshold.created_at,
        before={"tau": current.tau, "method": current.method} if current else None,
        after={"tau": threshold.tau, "method": threshold.method, "reason": threshold.reason},
    )


def _choose(
    track: Track, rows: Sequence[Score], labels: Mapping[int, LabelInfo], request: TuningRequest
) -> ThresholdChoice:
    return choose_tau(
        [row.memorization_distance for row in rows],
        [labels[row.ref].memorising if row.ref in labels else None for row in rows],
        method=request.method,
        alpha=request.alpha,
        tau=request.tau,
        heldout_distance=track.preparation.heldout_distance if track.preparation else None,
        standard_errors=[row.distance_se for row in rows],
    )


def _compare(
    session: Session,
    state: CompetitionState,
    track: Track,
    rows: Sequence[Score],
    labels: Mapping[int, LabelInfo],
    choice: ThresholdChoice,
    current: Threshold | None,
) -> Retuning:
    # Not the cached board: an import chooses tau in the transaction that writes the entries.
    before = read_ranked_board(session, state.competition, state.tracks, track.board_kind)
    after = order_of(before.judged.under(choice.tau))
    penalised_after = dict(zip(after.judged.columns.ref.tolist(), after.judged.penalised.tolist(), strict=True))
    changed = [row for row in rows if bool(row.penalised) != penalised_after[row.ref]]
    names = board.team_names(session, state.competition.id)
    moves = moves_of(_ranks_by_team(before, names), _ranks_by_team(after, names))
    medals = state.competition.medals
    places = max(medals.values(), default=0)
    return Retuning(
        threshold=None,
        previous_tau=current.tau if current else None,
        choice=choice,
        penalised=changes_of([row for row in changed if penalised_after[row.ref]], labels),
        freed=changes_of([row for row in changed if not penalised_after[row.ref]], labels),
        borderline=changes_of([rows[index] for index in choice.borderline or ()], labels),
        moves=moves,
        medals=medal_moves_of(moves, medals),
        reviews=review_workload_of(after.refs, labels, places),
        reviews_before=review_workload_of(before.refs, labels, places),
    )


def _ranks_by_team(ranked: RankedBoard, names: Mapping[int, str]) -> dict[str, int]:
    """Ranks by team name; ``names`` has the names by team id."""
    return {names[team]: rank for rank, team in enumerate(ranked.judged.team[ranked.rows].tolist(), start=1)}


def changes_of(rows: Sequence[Score], labels: Mapping[int, LabelInfo]) -> list[PenaltyChange]:
    """Judged entries as penalty changes with their decided labels, the closest to the training images first."""
    return [
        PenaltyChange(row.id, row.team, row.memorization_distance, labels[row.ref].label if row.ref in labels else None)
        for row in sorted(rows, key=lambda row: (row.memorization_distance, row.id))
    ]


def choice_as_json(choice: ThresholdChoice) -> dict[str, Any]:
    """A choice as JSON, without its tau, method and borderline entries, which are stored or shown elsewhere."""
    fields = asdict(choice)
    return {name: fields[name] for name in fields.keys() - {"tau", "method", "borderline"}}
