"""The state of a competition at a moment (row, tracks, phase, open preparations, data files), and who may see what of
it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer, is_reviewer
from scorer.acting import Acting
from scorer.archive import ImageSpec
from scorer.competitions.worker_weights import missing_weights, preparing_workers
from scorer.db import competitions
from scorer.db.competitions import ListedCompetition, TrackSetup
from scorer.db.tables import Account, Announcement, Competition, DataFile, Publication, Track, WorkerReport
from scorer.db.tuning import UNSET
from scorer.errors import Conflict, Forbidden, NotFound
from scorer.lifecycle import TRACK_KINDS, Phase, TrackKind, phase_at
from scorer.ranking.awards import Awards, board_awards

MAX_ANNOUNCEMENTS = 3
"""On a competition's page; all are on one of their own."""


@dataclass(frozen=True)
class CompetitionState:
    """A competition at a moment: its phase, its tracks, and in ``missing`` what an organizer has still to set up."""

    competition: Competition
    phase: Phase
    tracks: dict[TrackKind, Track]
    missing: tuple[str, ...]
    files: tuple[DataFile, ...] = ()
    """The data files that it offers, by name."""
    publications: tuple[Publication, ...] = ()
    """Every publication of the private board and its withdrawals, newest first."""
    announcements: tuple[Announcement, ...] = ()
    """The newest ones, newest first."""

    @property
    def first_board(self) -> TrackKind:
        """The board that a page shows first: the deciding board, once it is published."""
        return "private" if self.published else "public"

    def board_title(self, kind: TrackKind) -> str:
        """The name of a board on pages. The private one is named for its publication, once there is one."""
        if kind == "public":
            return "Public"
        return str(self.phase).capitalize() if self.published else "Private"

    @property
    def awards(self) -> Awards:
        """What the ranks of the final board win."""
        return Awards(self.competition.medals, self.competition.prizes)

    def awards_on(self, kind: TrackKind) -> Awards:
        """What the ranks of a board win now (:func:`scorer.ranking.awards.board_awards`)."""
        return board_awards(self.awards, kind, self.phase)

    @property
    def published(self) -> bool:
        """Whether the private board is public, provisional or final."""
        return self.phase in {Phase.PROVISIONAL, Phase.FINAL}

    @property
    def image_spec(self) -> ImageSpec:
        """The image specification that a submission must satisfy."""
        return ImageSpec(count=self.competition.image_count, size=self.competition.image_size)


def state_of(session: Session, slug: str, now: datetime) -> CompetitionState:
    """The state of a competition at ``now``; ``NotFound`` if there is none."""
    setups = competitions.track_setups_by_slug(session, slug)
    if not setups:
        raise NotFound("no-competition", f"There is no competition {slug!r}.")
    (state,) = _states(session, setups, now).values()
    return state


def visible_state(acting: Acting[Account | None], slug: str) -> CompetitionState:
    """The state of a competition that the account may see: a draft is ``NotFound`` for all but its organizers and
    reviewers."""
    return require_visible(state_of(acting.session, slug, acting.now), acting.actor)


def require_visible(state: CompetitionState, account: Account | None) -> CompetitionState:
    """The state if the account may see the competition; ``NotFound`` otherwise."""
    if not _is_visible(state, account):
        raise NotFound("no-competition", f"There is no competition {state.competition.slug!r}.")
    return state


def at_moment(state: CompetitionState, now: datetime) -> CompetitionState:
    """The state ``state``, read earlier, with its phase at ``now``."""
    competition = state.competition
    times = {"opens_at": competition.opens_at, "closes_at": competition.closes_at}
    return replace(state, phase=phase_at(now, published=state.phase if state.published else None, **times))


def visible_competitions(acting: Acting[Account | None]) -> list[ListedCompetition]:
    """What every competition that the account may see is chosen and ordered by, newest first: to read the states of
    some."""
    listed = competitions.list_competitions(acting.session)
    return [each for each in listed if not is_draft(each, acting.now) or is_reviewer(acting.actor, each.id)]


def is_draft(competition: ListedCompetition, now: datetime) -> bool:
    """Whether a listed competition is a draft."""
    return _phase_of(competition, now) is Phase.DRAFT


def _phase_of(competition: ListedCompetition, now: datetime) -> Phase:
    published = _published_phase(published=competition.published, final=competition.final)
    return phase_at(now, opens_at=competition.opens_at, closes_at=competition.closes_at, published=published)


def list_version(session: Session, listed: Sequence[ListedCompetition], now: datetime) -> tuple[object, ...]:
    """What a list of these competitions depends on for those who organize none: another value whenever their phases,
    rows, tracks, thresholds or publications have changed."""
    digest = competitions.rows_digest(session, [each.id for each in listed])
    return digest, *(_phase_of(each, now) for each in listed)


def states_of(session: Session, ids: Sequence[int], now: datetime) -> list[CompetitionState]:
    """The states of existing competitions, in the order of ``ids``; by as many statements as that of one."""
    states = _states(session, competitions.track_setups_by_id(session, ids), now)
    return [states[id_] for id_ in ids]


def _is_visible(state: CompetitionState, account: Account | None) -> bool:
    return state.phase is not Phase.DRAFT or is_reviewer(account, state.competition.id)


def _published_phase(*, published: bool | None, final: bool | None) -> Phase | None:
    """The phase of the newest publication; None if it is a withdrawal, or without any."""
    if not published:
        return None
    return Phase.FINAL if final else Phase.PROVISIONAL


def _states(session: Session, setups: Sequence[TrackSetup], now: datetime) -> dict[int, CompetitionState]:
    of_competition: defaultdict[int, list[TrackSetup]] = defaultdict(list)
    for setup in setups:
        of_competition[setup.track.competition_id].append(setup)
    material = competitions.material_by_competition(session, of_competition.keys(), MAX_ANNOUNCEMENTS)
    workers = () if all(is_prepared(setup.track) for setup in setups) else preparing_workers(session)

    def state(id_: int, of_one: Sequence[TrackSetup]) -> CompetitionState:
        competition, acts = of_one[0].track.competition, material[id_].publications
        published = _published_phase(published=acts[0].published, final=acts[0].final) if acts else None
        phase = phase_at(now, opens_at=competition.opens_at, closes_at=competition.closes_at, published=published)
        tracks = {setup.track.board_kind: setup.track for setup in of_one}
        missing = tuple(_missing(competition, of_one, workers))
        return CompetitionState(competition, phase, tracks, missing, **material[id_]._asdict())

    return {id_: state(id_, of_one) for id_, of_one in of_competition.items()}


def _missing(competition: Competition, setups: Sequence[TrackSetup], workers: Sequence[WorkerReport]) -> list[str]:
    missing = []
    if competition.opens_at is None:
        missing.append("opens_at, the time of opening, is not set")
    if not setups[0].has_training_images:
        missing.append("no training images are attached")
    by_kind = {setup.track.board_kind: setup for setup in setups}
    for kind in TRACK_KINDS:
        setup = by_kind[kind]
        if not is_prepared(setup.track):
            missing.append(f"the references of the {kind} track are not prepared")
        elif setup.method in {None, UNSET}:
            missing.append(f"the {kind} track has no threshold")
    unprepared = {setup.track.extractor for setup in setups if not is_prepared(setup.track)}
    return missing + [fault for name in sorted(unprepared) if (fault := missing_weights(name, workers))]


def is_prepared(track: Track) -> bool:
    """Whether the references of a track are prepared."""
    return track.preparation is not None and track.preparation.finished_at is not None


def track_of(state: CompetitionState, kind: TrackKind) -> Track:
    """The public or the private track; ``NotFound`` for any other ``kind``."""
    if kind not in state.tracks:
        raise NotFound("no-track", f"There is no track {kind!r}; tracks are public and private.")
    return state.tracks[kind]


def may_see_private(state: CompetitionState, account: Account | None) -> bool:
    """Whether the account may see the private track: organizers always, others after publication."""
    return state.published or is_organizer(account, state.competition.id)


def lock_unless_final(session: Session, competition: Competition) -> None:
    """Keep the final board from being published to the end of the transaction. ``Conflict`` (``published``) if it is:
    nothing that it is read by changes until it is withdrawn."""
    competitions.lock_competition(session, competition.slug, share=True)
    require_not_final(session, competition)


def require_not_final(session: Session, competition: Competition) -> None:
    """``Conflict`` (``published``) if the final board is published, for a caller that has locked the competition."""
    if competitions.is_final(session, competition.id):
        raise Conflict(
            "published", "The final board is published. Withdraw it first, with a reason; then publish it again."
        )


def may_see_results(state: CompetitionState, account: Account | None) -> bool:
    """Whether the account may see labels and the figures of the private track: organizers always, others with the final
    board."""
    return state.phase is Phase.FINAL or is_organizer(account, state.competition.id)


def grace_end(competition: Competition) -> datetime | None:
    """Until when uploads that were begun before the close may finish, and picks be changed; None without a close."""
    closes_at = competition.closes_at
    return None if closes_at is None else closes_at + timedelta(seconds=competition.upload_grace_seconds)


def takes_late(state: CompetitionState, now: datetime) -> bool:
    """Whether a submission begun now is late: accepted after the close, for a board of its own."""
    closes_at = state.competition.closes_at
    over = closes_at is not None and now >= closes_at and state.phase is not Phase.DRAFT
    return over and state.competition.late_submissions


def visible_track(state: CompetitionState, kind: TrackKind, account: Account | None) -> Track:
    """The track, if the account may read its scores; ``Forbidden`` for the private one before publication."""
    track = track_of(state, kind)
    if kind == "private" and not may_see_private(state, account):
        raise Forbidden("not-published", "The private board is shown when the organizers publish it.")
    return track


def require_results(state: CompetitionState, kind: TrackKind, account: Account | None) -> None:
    """``Forbidden`` for figures of the private track before the final board is published, for all but organizers."""
    if track_of(state, kind).kind == "private" and not may_see_results(state, account):
        raise Forbidden("not-final", "Private figures are shown once the organizers publish the final board.")
