"""Thresholds: choosing a track's tau, its impact on the board, recording the choice, undoing it.

A choice is one inserted row; the next read of the board ranks with it. Everything that takes time happens before the
track is locked: tau is chosen and its impact computed over the board as it then is. Under the lock the row is inserted
if the tau that was compared with is still the newest. Entries measured or ruled on in between are in none of the lists
of that answer, which say what the choice changed on the board that it was based on; the next board judges them by the
new tau like all others, and the history, computed anew whenever it is read, has those accepted by then.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy.orm import Session

from kennel_client.names import ThresholdMethod
from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import penalty_notices
from scorer.competitions.competition_state import CompetitionState, lock_unless_final, track_of
from scorer.db import tuning
from scorer.db.tables import Account, Threshold, Track
from scorer.db.tuning import UNDO, effective_thresholds
from scorer.errors import Conflict, Invalid, NotFound
from scorer.leaderboard.board_versions import ChangesPage
from scorer.leaderboard.rows import ranked_board_of, read_ranked_board
from scorer.lifecycle import TrackKind
from scorer.metrics.statistics.threshold_selection import METHODS, LabelledDistances, ThresholdChoice
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import RankedBoard, order_of
from scorer.submissions.labels import LabelColumns, label_columns_of, label_info_of
from scorer.tuning.impact import LISTED, ListName, ThresholdImpact, lists_of

AUTOMATIC = tuple(method for method in METHODS if method != "manual")


@dataclass(frozen=True)
class Retuning:
    """A choice of tau and its impact on the board that it was based on."""

    previous: Threshold | None
    """The threshold that it is compared with."""
    choice: ThresholdChoice
    impact: ThresholdImpact
    lists: Mapping[ListName, ChangesPage]
    """The first rows of each list of the impact."""


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
class Lack:
    """What a method needs but does not have."""

    type: Annotated[str, Field(examples=["no-labels"])]
    message: str


@dataclass(frozen=True)
class Option:
    """The tau that one automatic method would choose, or what it lacks."""

    method: ThresholdMethod
    tau: float | None
    choice: dict[str, Any] | None
    lacks: Lack | None


@dataclass(frozen=True)
class TrackEntries:
    """A track's board with the labels of its entries: what tau is chosen over."""

    state: CompetitionState
    kind: TrackKind
    in_force: Threshold | None
    """The newest threshold, as of before the board was read: the board may be judged by a newer one."""
    board: RankedBoard
    labels: LabelColumns

    @property
    def track(self) -> Track:
        """The track."""
        return track_of(self.state, self.kind)

    @cached_property
    def distances(self) -> LabelledDistances:
        """The distances of the entries that compete, with what reviewers have decided about them."""
        competing = self.board.judged.is_competing
        preparation = self.track.preparation
        return LabelledDistances(
            self.board.judged.columns.distance[competing],
            self.labels.memorising[competing],
            preparation.held_out_distance if preparation else None,
        )

    def choose(self, request: TuningRequest) -> ThresholdChoice:
        """The tau that a request means. ``Invalid`` if its method lacks an input."""
        return self.distances.choose(request.method, request.alpha, tau=request.tau)

    def impact_of(self, tau: float, before: float | None) -> ThresholdImpact:
        """The impact of a tau, compared with the tau ``before`` (None: with no threshold)."""
        return ThresholdImpact(self._under(before), self._under(tau), self.labels, self.state.awards_on(self.kind))

    def _under(self, tau: float | None) -> RankedBoard:
        judged: JudgedEntries = self.board.judged
        wanted = float("nan") if tau is None else tau
        in_force = judged.rules.tau == wanted or (judged.rules.tau != judged.rules.tau and tau is None)
        return self.board if in_force else order_of(judged.under(wanted))


def entries_of(session: Session, state: CompetitionState, kind: TrackKind, *, own_writes: bool = False) -> TrackEntries:
    """A track's entries, judged, with their labels: those that are committed, from the process's cache where it has
    one; with ``own_writes`` those that this transaction sees, with what it has written itself."""
    in_force = tuning.newest_threshold(session, track_of(state, kind).id)
    read = read_ranked_board if own_writes else ranked_board_of
    board = read(session, state, kind)
    labels = label_columns_of(label_info_of(session, state.competition.id), board.judged.columns.ref)
    return TrackEntries(state, kind, in_force, board, labels)


def compare(
    session: Session, entries: TrackEntries, request: TuningRequest, *, previous: int | None = None
) -> tuple[Threshold | None, ThresholdChoice, ThresholdImpact]:
    """A choice of tau and its impact, beside the threshold that it is compared with; nothing is recorded.

    ``previous``: the id of that threshold, 0 for none; without it, the one in force (``NotFound`` for one of another
    track). ``Invalid`` if the method lacks an input: labels, both classes, held-out images, a value.
    """
    former = entries.in_force if previous is None else _threshold(session, entries.track, previous)
    choice = entries.choose(request)
    return former, choice, entries.impact_of(choice.tau, None if former is None else former.tau)


def impact_of(
    session: Session, entries: TrackEntries, request: TuningRequest, *, previous: int | None = None, limit: int = LISTED
) -> Retuning:
    """:func:`compare` with the first rows of each list, at most ``limit``."""
    former, choice, impact = compare(session, entries, request, previous=previous)
    return Retuning(former, choice, impact, lists_of(session, impact, limit))


def preview(session: Session, entries: TrackEntries, request: TuningRequest) -> Retuning:
    """What recording a choice of tau would change, refused as it would be."""
    _require_newest(entries.in_force, request.after)
    return impact_of(session, entries, request)


def retune(
    acting: Acting,
    state: CompetitionState,
    kind: TrackKind,
    *,
    request: TuningRequest,
    restored: Mapping[str, Any] | None = None,
) -> tuple[Threshold, Retuning]:
    """Choose a track's tau by ``request.method`` and record it; returns the row, and what it changed. ``restored``: the
    choice that an undo goes back to.

    ``Invalid`` if the method lacks an input; ``Conflict`` (``tau-has-moved``) if another tau is chosen meanwhile,
    ``published`` if the final board is.
    """
    entries = entries_of(acting.session, state, kind)
    retuning = preview(acting.session, entries, request)
    threshold = _threshold_row(entries, retuning.choice, request, author=acting.actor, now=acting.now)
    if restored is not None:
        threshold.method = UNDO
        threshold.choice = dict(restored)
    _record(acting.session, entries, threshold)
    if kind == "private":
        before, after = retuning.impact.before.judged, retuning.impact.after.judged
        penalty_notices.notify_newly_penalised(
            acting.session, state, before, after=after, why="Another threshold was chosen.", now=acting.now
        )
    return threshold, retuning


def set_threshold(acting: Acting, state: CompetitionState, kind: TrackKind, *, request: TuningRequest) -> Threshold:
    """Record a choice of tau over the entries that this transaction sees, with those that it has written: for imports,
    which look at no impact."""
    entries = entries_of(acting.session, state, kind, own_writes=True)
    threshold = _threshold_row(entries, entries.choose(request), request, author=acting.actor, now=acting.now)
    _record(acting.session, entries, threshold)
    return threshold


def undo(
    acting: Acting, state: CompetitionState, kind: TrackKind, *, reason: str, after: int | None
) -> tuple[Threshold, Retuning]:
    """Undo a track's newest choice of tau: a new row restores the one before it. A second undo goes one further back.
    ``Conflict`` (``nothing-to-undo``) if there is none before it, ``tau-has-moved`` if another is chosen meanwhile."""
    thresholds = tuning.thresholds_of(acting.session, track_of(state, kind).id)
    _require_newest(thresholds[0] if thresholds else None, after)
    standing = effective_thresholds(thresholds)
    if len(standing) < 2:
        raise Conflict("nothing-to-undo", "There is no earlier tau to go back to.")
    target, undone = standing[-2], standing[-1]
    request = TuningRequest("manual", tau=target.tau, reason=reason, after=thresholds[0].id)
    restored = target.choice | {"restores": target.id, "undoes": undone.id}
    return retune(acting, state, kind, request=request, restored=restored)


def method_options(entries: TrackEntries, *, alpha: float = 0.0) -> list[Option]:
    """What every automatic method would choose now, or why it cannot."""

    def option(method: ThresholdMethod) -> Option:
        try:
            choice = entries.choose(TuningRequest(method, alpha))
        except Invalid as error:
            return Option(method, None, None, Lack(error.slug, error.message))
        return Option(method, choice.tau, choice_as_json(choice), None)

    return [option(method) for method in AUTOMATIC]


def choice_as_json(choice: ThresholdChoice) -> dict[str, Any]:
    """A choice as JSON, without its tau and method, which are stored or shown elsewhere."""
    fields = asdict(choice)
    return {name: fields[name] for name in fields.keys() - {"tau", "method"}}


def _threshold(session: Session, track: Track, threshold_id: int) -> Threshold | None:
    threshold = tuning.threshold(session, track.id, threshold_id)
    if threshold is None and threshold_id != 0:
        raise NotFound("no-threshold", f"The track has no threshold {threshold_id}.")
    return threshold


def _threshold_row(
    entries: TrackEntries, choice: ThresholdChoice, request: TuningRequest, *, author: Account, now: datetime
) -> Threshold:
    return Threshold(
        track_id=entries.track.id,
        tau=choice.tau,
        method=request.method,
        choice=choice_as_json(choice),
        reason=request.reason,
        author_id=author.id,
        created_at=now,
    )


def _require_newest(current: Threshold | None, after: int | None) -> None:
    if after is not None and (0 if current is None else current.id) != after:
        raise Conflict("tau-has-moved", "Somebody has chosen another tau since; please look at the board again.")


def _record(session: Session, entries: TrackEntries, threshold: Threshold) -> None:
    """Insert a threshold if the one that it was compared with is still the newest, the track is in use, and the final
    board is not published."""
    kind, slug, former = entries.kind, entries.state.competition.slug, entries.in_force
    lock_unless_final(session, entries.state.competition)
    if tuning.lock_track(session, threshold.track_id) != kind:
        raise Conflict("track-replaced", "The track has got another extractor since; please look at the board again.")
    _require_newest(tuning.newest_threshold(session, threshold.track_id), 0 if former is None else former.id)
    session.add(threshold)
    session.flush()
    audit_log.record_action(
        Acting(session, session.get_one(Account, threshold.author_id), threshold.created_at),
        "threshold.undone" if threshold.method == UNDO else "threshold.chosen",
        f"track:{slug}/{kind}",
        before={"tau": former.tau, "method": former.method} if former else None,
        after={"tau": threshold.tau, "method": threshold.method, "reason": threshold.reason},
    )
