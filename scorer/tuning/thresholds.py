"""Thresholds: choosing a track's tau, computing its impact on the board, recording and undoing the choice.

A choice is one inserted row, and the next read of the board ranks with it. Choosing tau and computing its impact take
time, so they happen before the track is locked, on the board of that moment. Under the lock, the row is inserted only
if the threshold that was compared with is still the newest.

Entries measured or ruled on in between are missing from the lists of that response. They are judged with the new tau
like all others, and the history, which is computed whenever it is read, includes those accepted by then.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy.orm import Session

from kennel_client.names import ThresholdMethod
from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import penalty_notices
from scorer.competitions.competition_state import CompetitionState, find_track, lock_unless_final
from scorer.db import tuning
from scorer.db.tables import Threshold, Track
from scorer.db.tuning import UNDO, effective_thresholds
from scorer.errors import Conflict, Invalid, NotFound
from scorer.leaderboard.board_versions import ChangesPage
from scorer.leaderboard.rows import load_ranked_board, read_ranked_board
from scorer.lifecycle import TrackKind
from scorer.metrics.statistics.threshold_selection import METHODS, LabelledDistances, ThresholdChoice
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import RankedBoard, rank_entries
from scorer.submissions.labels import LabelColumns, build_label_columns, load_label_info
from scorer.tuning.impact import LIST_NAMES, LISTED, ListName, ThresholdImpact, load_page

AUTOMATIC = tuple(method for method in METHODS if method != "manual")


@dataclass(frozen=True)
class Retuning:
    """A choice of tau and its impact on the board that it was based on."""

    previous: Threshold | None
    """The threshold that the choice is compared with."""
    choice: ThresholdChoice
    impact: ThresholdImpact
    lists: Mapping[ListName, ChangesPage]
    """The first rows of each list of the impact."""


@dataclass(frozen=True)
class TuningRequest:
    """How to choose tau. ``tau`` is for the method ``manual``, ``alpha`` for ``margin``."""

    method: str = "margin"
    alpha: float = 0.0
    tau: float | None = None
    reason: str = ""
    after: int | None = None
    """The id of the threshold that the organizer saw. ``Conflict`` (``tau-has-moved``) if it is not the newest."""


@dataclass(frozen=True)
class Lack:
    """An input that a method needs and does not have."""

    type: Annotated[str, Field(examples=["no-labels"])]
    message: str


@dataclass(frozen=True)
class Option:
    """The tau that an automatic method would choose, or the input that it lacks."""

    method: ThresholdMethod
    tau: float | None
    choice: dict[str, Any] | None
    lacks: Lack | None


@dataclass(frozen=True)
class TrackEntries:
    """A track's board with the labels of its entries. Tau is chosen over these."""

    state: CompetitionState
    kind: TrackKind
    in_force: Threshold | None
    """The newest threshold, read before the board. The board may already be judged with a newer one."""
    board: RankedBoard
    labels: LabelColumns

    @property
    def track(self) -> Track:
        return find_track(self.state, self.kind)

    @cached_property
    def distances(self) -> LabelledDistances:
        """The distances of the competing entries, with the reviewers' decisions about them."""
        competing = self.board.judged.is_competing
        preparation = self.track.preparation
        return LabelledDistances(
            self.board.judged.columns.distance[competing],
            self.labels.memorising[competing],
            preparation.held_out_distance if preparation else None,
        )

    def choose(self, request: TuningRequest) -> ThresholdChoice:
        """The tau that a request chooses. ``Invalid`` if its method lacks an input."""
        return self.distances.choose(request.method, request.alpha, tau=request.tau)

    def compute_impact(self, tau: float, before: float | None) -> ThresholdImpact:
        """The impact of a tau, compared with the tau ``before`` (None: no threshold)."""
        return ThresholdImpact(self._under(before), self._under(tau), self.labels, self.state.awards_on(self.kind))

    def _under(self, tau: float | None) -> RankedBoard:
        judged: JudgedEntries = self.board.judged
        wanted = float("nan") if tau is None else tau
        in_force = judged.rules.tau == wanted or (judged.rules.tau != judged.rules.tau and tau is None)
        return self.board if in_force else rank_entries(judged.under(wanted))


def load_entries(
    session: Session, state: CompetitionState, kind: TrackKind, *, own_writes: bool = False
) -> TrackEntries:
    """A track's judged entries with their labels. These are the committed ones, from the process's cache if there is
    one. With ``own_writes``, they include changes of this transaction."""
    in_force = tuning.newest_threshold(session, find_track(state, kind).id)
    read = read_ranked_board if own_writes else load_ranked_board
    board = read(session, state, kind)
    labels = build_label_columns(load_label_info(session, state.competition.id), board.judged.columns.ref)
    return TrackEntries(state, kind, in_force, board, labels)


def compare(
    session: Session, entries: TrackEntries, request: TuningRequest, *, previous: int | None = None
) -> tuple[Threshold | None, ThresholdChoice, ThresholdImpact]:
    """A choice of tau and its impact, after the threshold that it is compared with. Nothing is recorded.

    ``previous`` is the id of that threshold, 0 for none; by default the current one (``NotFound`` for one of another
    track). ``Invalid`` if the method lacks an input: labels, both classes, held-out images, a value.
    """
    former = entries.in_force if previous is None else _threshold(session, entries.track, previous)
    choice = entries.choose(request)
    return former, choice, entries.compute_impact(choice.tau, None if former is None else former.tau)


def compute_impact(
    session: Session, entries: TrackEntries, request: TuningRequest, *, previous: int | None = None, limit: int = LISTED
) -> Retuning:
    """:func:`compare` with at most ``limit`` rows of each list."""
    former, choice, impact = compare(session, entries, request, previous=previous)
    lists = {name: load_page(session, impact, name, limit=limit) for name in LIST_NAMES}
    return Retuning(former, choice, impact, lists)


def preview(session: Session, entries: TrackEntries, request: TuningRequest) -> Retuning:
    """The changes that recording a choice of tau would make. Raises the same errors."""
    _require_newest(entries.in_force, request.after)
    return compute_impact(session, entries, request)


def retune(
    acting: Acting,
    state: CompetitionState,
    kind: TrackKind,
    *,
    request: TuningRequest,
    restored: dict[str, Any] | None = None,
) -> tuple[Threshold, Retuning]:
    """Choose a track's tau by ``request.method`` and record it.

    ``restored`` is the choice that an undo goes back to. ``Invalid`` if the method lacks an input. ``Conflict`` if
    another tau is chosen meanwhile (``tau-has-moved``), or the final board is published (``published``).
    """
    entries = load_entries(acting.session, state, kind)
    retuning = preview(acting.session, entries, request)
    threshold = _record(acting, entries, retuning.choice, request=request, restored=restored)
    if kind == "private":
        before, after = retuning.impact.before.judged, retuning.impact.after.judged
        penalty_notices.notify_newly_penalised(
            acting.session, state, before, after=after, why="Another threshold was chosen.", now=acting.now
        )
    return threshold, retuning


def set_threshold(acting: Acting, state: CompetitionState, kind: TrackKind, *, request: TuningRequest) -> Threshold:
    """Record a choice of tau over the entries that this transaction sees, including its own changes. For imports, which
    need no impact."""
    entries = load_entries(acting.session, state, kind, own_writes=True)
    return _record(acting, entries, entries.choose(request), request=request)


def undo(
    acting: Acting, state: CompetitionState, kind: TrackKind, *, reason: str, after: int | None
) -> tuple[Threshold, Retuning]:
    """Undo a track's newest choice of tau: a new row restores the previous choice. A second undo goes one step further
    back.

    ``Conflict`` (``nothing-to-undo``) if there is no previous choice, (``tau-has-moved``) if another is chosen
    meanwhile.
    """
    thresholds = tuning.load_thresholds(acting.session, find_track(state, kind).id)
    _require_newest(thresholds[0] if thresholds else None, after)
    effective = effective_thresholds(thresholds)
    if len(effective) < 2:
        raise Conflict("nothing-to-undo", "The track has no earlier tau to restore.")
    target, undone = effective[-2], effective[-1]
    request = TuningRequest("manual", tau=target.tau, reason=reason, after=thresholds[0].id)
    restored = target.choice | {"restores": target.id, "undoes": undone.id}
    return retune(acting, state, kind, request=request, restored=restored)


def method_options(entries: TrackEntries, *, alpha: float = 0.0) -> list[Option]:
    """The choice of every automatic method, or the input that it lacks."""

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


def _require_newest(current: Threshold | None, after: int | None) -> None:
    if after is not None and (0 if current is None else current.id) != after:
        raise Conflict("tau-has-moved", "Another tau has been chosen in the meantime. Check it, then try again.")


def _record(
    acting: Acting,
    entries: TrackEntries,
    choice: ThresholdChoice,
    *,
    request: TuningRequest,
    restored: dict[str, Any] | None = None,
) -> Threshold:
    """Insert a threshold. The threshold that it was compared with must still be the newest, the track still in use, and
    the final board not published."""
    session, track_id, kind, former = acting.session, entries.track.id, entries.kind, entries.in_force
    lock_unless_final(session, entries.state.competition)
    if tuning.lock_track(session, track_id) != kind:
        raise Conflict(
            "track-replaced", "The track's extractor has been changed in the meantime. Check its tau, then try again."
        )
    _require_newest(tuning.newest_threshold(session, track_id), 0 if former is None else former.id)
    threshold = Threshold(
        track_id=track_id,
        tau=choice.tau,
        method=request.method if restored is None else UNDO,
        choice=choice_as_json(choice) if restored is None else restored,
        reason=request.reason,
    )
    acting.add(threshold)
    audit_log.record_action(
        acting,
        "threshold.chosen" if restored is None else "threshold.undone",
        f"track:{entries.state.competition.slug}/{kind}",
        before={"tau": former.tau, "method": former.method} if former else None,
        after={"tau": threshold.tau, "method": threshold.method, "reason": threshold.reason},
    )
    return threshold
