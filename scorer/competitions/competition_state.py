"""The state of a competition at a moment (row, tracks, phase, missing parts, data files), and access to it."""

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
"""The most announcements on a competition's page."""


@dataclass(frozen=True)
class CompetitionState:
    """A competition at a moment. ``missing``: the set-up steps that remain, as clauses."""

    competition: Competition
    phase: Phase
    tracks: dict[TrackKind, Track]
    missing: tuple[str, ...]
    files: tuple[DataFile, ...] = ()
    """The offered data files, by name."""
    publications: tuple[Publication, ...] = ()
    """All publications and withdrawals of the private board, newest first."""
    announcements: tuple[Announcement, ...] = ()
    """The latest announcements, newest first."""

    @property
    def first_board(self) -> TrackKind:
        """The board that a page shows first: the private board once it is published."""
        return "private" if self.published else "public"

    def board_title(self, kind: TrackKind) -> str:
        """Return the name of a board on pages. A published private board is called Provisional or Final."""
        if kind == "public":
            return "Public"
        return str(self.phase).capitalize() if self.published else "Private"

    @property
    def awards(self) -> Awards:
        return Awards(self.competition.medals, self.competition.prizes)

    def awards_on(self, kind: TrackKind) -> Awards:
        return board_awards(self.awards, kind, self.phase)

    @property
    def published(self) -> bool:
        """Whether the private board is public, provisional or final."""
        return self.phase in {Phase.PROVISIONAL, Phase.FINAL}

    @property
    def image_spec(self) -> ImageSpec:
        return ImageSpec(count=self.competition.image_count, size=self.competition.image_size)


def load_state(session: Session, slug: str, now: datetime) -> CompetitionState:
    """Return the state of a competition at ``now``; ``NotFound`` if there is none."""
    setups = competitions.track_setups_by_slug(session, slug)
    if not setups:
        raise NotFound("no-competition", f"There is no competition {slug!r}.")
    (state,) = _states(session, setups, now).values()
    return state


def visible_state(acting: Acting[Account | None], slug: str) -> CompetitionState:
    """Return the state of a competition; a draft is ``NotFound`` except for its organizers and reviewers."""
    return require_visible(load_state(acting.session, slug, acting.now), acting.actor)


def require_visible(state: CompetitionState, account: Account | None) -> CompetitionState:
    """``NotFound`` unless the account may see the competition."""
    if state.phase is Phase.DRAFT and not is_reviewer(account, state.competition.id):
        raise NotFound("no-competition", f"There is no competition {state.competition.slug!r}.")
    return state


def at_moment(state: CompetitionState, now: datetime) -> CompetitionState:
    """Return a state that was read earlier with its phase at ``now``."""
    competition = state.competition
    times = {"opens_at": competition.opens_at, "closes_at": competition.closes_at}
    return replace(state, phase=phase_at(now, published=state.phase if state.published else None, **times))


def visible_competitions(acting: Acting[Account | None]) -> list[ListedCompetition]:
    """Return the columns for choosing and ordering the competitions that the account may see, newest first."""
    listed = competitions.list_competitions(acting.session)
    return [
        competition
        for competition in listed
        if not is_draft(competition, acting.now) or is_reviewer(acting.actor, competition.id)
    ]


def is_draft(competition: ListedCompetition, now: datetime) -> bool:
    return _compute_phase(competition, now) is Phase.DRAFT


def _compute_phase(competition: ListedCompetition, now: datetime) -> Phase:
    published = _published_phase(published=competition.published, final=competition.final)
    return phase_at(now, opens_at=competition.opens_at, closes_at=competition.closes_at, published=published)


def list_version(session: Session, listed: Sequence[ListedCompetition], now: datetime) -> tuple[object, ...]:
    """Return a value that changes with the list that people without a role see of these competitions.

    It depends on phases, rows, tracks, thresholds and publications.
    """
    digest = competitions.rows_digest(session, [competition.id for competition in listed])
    return digest, *(_compute_phase(competition, now) for competition in listed)


def load_states(session: Session, ids: Sequence[int], now: datetime) -> list[CompetitionState]:
    """Return the states of existing competitions, in the order of ``ids``, in a constant number of statements."""
    states = _states(session, competitions.track_setups_by_id(session, ids), now)
    return [states[id_] for id_ in ids]


def _published_phase(*, published: bool | None, final: bool | None) -> Phase | None:
    """Return the phase of the newest publication; None if it is withdrawn, or without any."""
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
        missing.append("opens_at, the opening time, is not set")
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
    return track.preparation is not None and track.preparation.finished_at is not None


def find_track(state: CompetitionState, kind: TrackKind) -> Track:
    """Return the public or the private track; ``NotFound`` for any other ``kind``."""
    if kind not in state.tracks:
        raise NotFound("no-track", f"There is no track {kind!r}. The tracks are public and private.")
    return state.tracks[kind]


def may_see_private(state: CompetitionState, account: Account | None) -> bool:
    """Whether the account may see the private track: organizers always, others once a board is published."""
    return state.published or is_organizer(account, state.competition.id)


def lock_unless_final(session: Session, competition: Competition) -> None:
    """Block the publication of the final board until the end of the transaction.

    ``Conflict`` (``published``) if it is published: nothing that it depends on may change until it is withdrawn.
    """
    competitions.lock_competition(session, competition.slug, share=True)
    require_not_final(session, competition)


def require_not_final(session: Session, competition: Competition) -> None:
    """``Conflict`` (``published``) if the final board is published. The caller has locked the competition."""
    if competitions.is_final(session, competition.id):
        raise Conflict(
            "published", "The final board is published. Withdraw it with a reason, and publish it again afterwards."
        )


def may_see_results(state: CompetitionState, account: Account | None) -> bool:
    """Whether the account may see labels and private figures: organizers always, others with the final board."""
    return state.phase is Phase.FINAL or is_organizer(account, state.competition.id)


def grace_end(competition: Competition) -> datetime | None:
    """Return the end of the grace period for uploads and final picks; None without a deadline."""
    closes_at = competition.closes_at
    return None if closes_at is None else closes_at + timedelta(seconds=competition.upload_grace_seconds)


def takes_late(state: CompetitionState, now: datetime) -> bool:
    """Whether a submission that begins now is late and goes to the separate board."""
    closes_at = state.competition.closes_at
    over = closes_at is not None and now >= closes_at and state.phase is not Phase.DRAFT
    return over and state.competition.late_submissions


def visible_track(state: CompetitionState, kind: TrackKind, account: Account | None) -> Track:
    """Return a track; ``Forbidden`` unless the account may read its scores."""
    track = find_track(state, kind)
    if kind == "private" and not may_see_private(state, account):
        raise Forbidden("not-published", "The private board is hidden until the organizers publish it.")
    return track


def require_results(state: CompetitionState, kind: TrackKind, account: Account | None) -> None:
    """``Forbidden`` for the private track's figures before the final board, except for organizers."""
    if find_track(state, kind).kind == "private" and not may_see_results(state, account):
        raise Forbidden("not-final", "Private figures are hidden until the organizers publish the final board.")
