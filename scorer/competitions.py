"""Competitions: setting one up, what it still lacks, and what phase it is in."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from sqlalchemy.orm import Session

from scorer import audit_log, extractor_catalogue
from scorer.archive import ImageSpec
from scorer.db import competitions, tuning
from scorer.db.tables import Account, Competition, Track
from scorer.errors import Conflict, Forbidden, Invalid, NotFound
from scorer.lifecycle import TRACK_KINDS, Phase, TrackKind, phase_at
from scorer.notifications import notices

Slug = Annotated[str, StringConstraints(pattern=re.compile(r"^[a-z0-9]+(-[a-z0-9]+)*$"), max_length=60)]


class Prize(BaseModel):
    """What a place wins."""

    model_config = ConfigDict(extra="forbid")

    place: int = Field(ge=1, description="The rank on the private board.")
    amount: str = Field(examples=["$2,000"], max_length=100, description="What it wins, in words.")


class Medals(BaseModel):
    """The last place of each medal."""

    model_config = ConfigDict(extra="forbid")

    gold: int = Field(10, ge=0, description="The last rank with a gold medal.")
    silver: int = Field(50, ge=0, description="The last rank with a silver medal.")
    bronze: int = Field(100, ge=0, description="The last rank with a bronze medal.")


class TrackSpec(BaseModel):
    """How one track measures. The extractor is always named, never a default of the environment."""

    model_config = ConfigDict(extra="forbid")

    extractor: str = Field(examples=["inception_v3"], description="The network that turns images into features.")
    epsilon: float = Field(1e-15, gt=0, lt=1e-3, description="The small number that keeps the penalty finite.")


class CompetitionSpec(BaseModel):
    """What an organizer decides when creating a competition."""

    model_config = ConfigDict(extra="forbid")

    slug: Slug = Field(examples=["generative-dogs"], description="Its name in addresses and commands.")
    title: str = Field(min_length=1, max_length=200, description="Its name for people.")
    description: str = Field("", max_length=50_000, description="Markdown.")
    rules: str = Field("", max_length=50_000, description="Markdown.")
    image_count: int = Field(10_000, ge=2, le=100_000, description="Images in an entry: exactly so many.")
    image_size: int = Field(64, ge=8, le=1024, description="Images are squares of so many pixels, RGB, 8 bits.")
    opens_at: AwareDatetime | None = Field(None, description="From when on entries are taken; until then a draft.")
    team_merge_deadline: AwareDatetime | None = Field(None, description="Until when teams may merge.")
    closes_at: AwareDatetime | None = Field(None, description="Until when entries are taken; then review begins.")
    upload_grace_seconds: int = Field(
        900,
        ge=0,
        le=86_400,
        description="An upload begun before the close may finish within this time after it.",
    )
    review_days: int = Field(14, ge=0, le=365, description="Days after the close in which rebuttals are taken.")
    daily_limit: int | None = Field(5, ge=1, description="Entries a team and UTC day; null for no limit.")
    pending_limit: int = Field(2, ge=1, description="Entries of a team in progress at once.")
    rejected_limit: int = Field(20, ge=1, description="Uploads of a team and UTC day that fail the deep check.")
    max_team_size: int = Field(5, ge=1, le=100, description="Members of a team.")
    final_picks: int = Field(2, ge=1, le=10, description="Entries by which a team may be ranked in the end.")
    late_submissions: bool = Field(
        False, description="Whether entries are taken after the close, for a board of their own."
    )
    invitation_only: bool = Field(False, description="Only people whom an organizer has invited may enter.")
    prizes: list[Prize] = Field(default=[], max_length=100)
    medals: Medals = Medals()
    score_decimals: int = Field(5, ge=1, le=10, description="Scores are rounded to this before they are ranked.")
    public: TrackSpec
    private: TrackSpec

    @model_validator(mode="after")
    def _times_in_order(self) -> "CompetitionSpec":
        fault = fault_of_times(self.opens_at, self.team_merge_deadline, self.closes_at)
        if fault:
            raise ValueError(fault)
        return self


class CompetitionChanges(BaseModel):
    """What an organizer may change later; what is left out stays. Images, tracks and limits do not change."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field("", min_length=1, max_length=200)
    description: str = Field("", max_length=50_000)
    rules: str = Field("", max_length=50_000)
    opens_at: AwareDatetime | None = None
    team_merge_deadline: AwareDatetime | None = None
    closes_at: AwareDatetime | None = None
    late_submissions: bool = False
    invitation_only: bool = False


def fault_of_times(
    opens_at: datetime | None, merge_deadline: datetime | None, closes_at: datetime | None
) -> str | None:
    """What is wrong with a competition's times, if anything."""
    if opens_at and closes_at and closes_at <= opens_at:
        return "closes_at must be after opens_at"
    if merge_deadline and closes_at and merge_deadline > closes_at:
        return "team_merge_deadline must not be after closes_at"
    return None


@dataclass(frozen=True)
class State:
    """A competition as it stands: its phase, its tracks, and what an organizer has still to do."""

    competition: Competition
    phase: Phase
    published: bool
    tracks: dict[str, Track]
    missing: tuple[str, ...]

    @property
    def image_spec(self) -> ImageSpec:
        """What an entry must hold."""
        return ImageSpec(count=self.competition.image_count, size=self.competition.image_size)


def create(session: Session, spec: CompetitionSpec, *, author: Account, now: datetime) -> Competition:
    """Make a competition with its two tracks; ``Conflict`` if the slug is taken, ``Invalid`` for an unknown
    extractor."""
    extractors = {kind: extractor_catalogue.find_extractor(getattr(spec, kind).extractor) for kind in TRACK_KINDS}
    if competitions.competition_by_slug(session, spec.slug) is not None:
        raise Conflict("slug-taken", f"There is a competition {spec.slug!r} already.")
    values = spec.model_dump(exclude={"public", "private"})
    competition = Competition(**values, created_by=author.id, created_at=now)
    session.add(competition)
    session.flush()
    for kind, extractor in extractors.items():
        session.add(
            Track(
                competition_id=competition.id,
                kind=kind,
                extractor=extractor.identity,
                signed=not extractor.non_negative,
                epsilon=getattr(spec, kind).epsilon,
            )
        )
    session.flush()
    subject = f"competition:{spec.slug}"
    made = spec.model_dump(mode="json")
    audit_log.record_action(session, "competition.created", subject, actor=author, now=now, after=made)
    return competition


def change(session: Session, slug: str, changes: CompetitionChanges, *, author: Account, now: datetime) -> None:
    """Change texts and times of a competition; ``Invalid`` if the times would not be in order."""
    competitions.lock_competition(session, slug, share=False)
    competition = competitions.competition_by_slug(session, slug)
    if competition is None:
        raise NotFound("no-competition", f"There is no competition {slug!r}.")
    wanted = changes.model_dump(exclude_unset=True)
    before = CompetitionChanges.model_construct(**{name: getattr(competition, name) for name in wanted})
    for name, value in wanted.items():
        setattr(competition, name, value)
    fault = fault_of_times(competition.opens_at, competition.team_merge_deadline, competition.closes_at)
    if fault:
        raise Invalid("bad-times", f"The times are not in order: {fault}.")
    session.flush()
    audit_log.record_action(
        session,
        "competition.changed",
        f"competition:{slug}",
        actor=author,
        now=now,
        before=before.model_dump(mode="json", exclude_unset=True),
        after=changes.model_dump(mode="json", exclude_unset=True),
    )
    if "closes_at" in wanted and before.closes_at != competition.closes_at:
        _tell_deadline(session, competition, before.closes_at, now)


def _tell_deadline(session: Session, competition: Competition, before: datetime | None, now: datetime) -> None:
    """Tell everybody who competes that the close has moved. In a draft nobody does yet."""
    closes_at = competition.closes_at
    later = closes_at is None or (before is not None and closes_at > before)
    what = "has more time" if later else "closes earlier"
    then = f"It closes {_moment(closes_at)}." if closes_at else "It has no closing date any more."
    was = f" Before, that was to be {_moment(before)}." if before else ""
    link, subject = f"/competitions/{competition.slug}", f"{competition.title} {what}"
    kind = notices.Kind.DEADLINE
    notices.notify_competition(session, competition, kind, subject, f"{subject}. {then}{was}", link, now)


def _moment(at: datetime) -> str:
    return f"at {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def state_of(session: Session, slug: str, now: datetime) -> State:
    """A competition as it stands at ``now``; ``NotFound`` if there is none."""
    competition = competitions.competition_by_slug(session, slug)
    if competition is None:
        raise NotFound("no-competition", f"There is no competition {slug!r}.")
    return _state(session, competition, now)


def shown_state(session: Session, slug: str, account: Account | None, now: datetime) -> State:
    """A competition as it stands, for somebody's eyes: a draft is for organizers, to others it does not exist."""
    return shown(state_of(session, slug, now), account)


def shown(state: State, account: Account | None) -> State:
    """A competition that this person may know of; ``NotFound`` otherwise."""
    if not _is_shown(state, account):
        raise NotFound("no-competition", f"There is no competition {state.competition.slug!r}.")
    return state


def at_moment(state: State, now: datetime) -> State:
    """A state that was read earlier, at another moment."""
    competition = state.competition
    times = {"opens_at": competition.opens_at, "closes_at": competition.closes_at}
    return replace(state, phase=phase_at(now, published=state.published, **times))


def shown_states(session: Session, account: Account | None, now: datetime) -> list[State]:
    """Every competition that this person may see, newest first."""
    states = [_state(session, competition, now) for competition in competitions.all_competitions(session)]
    return [state for state in states if _is_shown(state, account)]


def _is_shown(state: State, account: Account | None) -> bool:
    return state.phase is not Phase.DRAFT or is_organizer(account)


def _state(session: Session, competition: Competition, now: datetime) -> State:
    published = competitions.is_published(session, competition.id)
    phase = phase_at(now, opens_at=competition.opens_at, closes_at=competition.closes_at, published=published)
    tracks = competitions.tracks_of(session, competition.id)
    return State(competition, phase, published, tracks, tuple(_missing(session, competition, tracks)))


def _missing(session: Session, competition: Competition, tracks: dict[str, Track]) -> list[str]:
    missing = []
    if competition.opens_at is None:
        missing.append("opens_at is not set")
    if "train" not in competitions.references_of(session, competition.id):
        missing.append("no training images are attached")
    for kind in TRACK_KINDS:
        preparation = tracks[kind].preparation
        if preparation is None or preparation.finished_at is None:
            missing.append(f"the references of the {kind} track are not prepared")
        elif tuning.newest_threshold(session, tracks[kind].id) is None:
            missing.append(f"the {kind} track has no threshold")
    return missing


def track_of(state: State, kind: TrackKind) -> Track:
    """The public or the private track; ``NotFound`` for any other word."""
    if kind not in state.tracks:
        raise NotFound("no-track", f"There is no track {kind!r}; tracks are public and private.")
    return state.tracks[kind]


def may_see_private(state: State, account: Account | None) -> bool:
    """The private track is for organizers until the final board is published."""
    return state.published or is_organizer(account)


def is_organizer(account: Account | None) -> bool:
    """Whether this person runs competitions."""
    return account is not None and account.role in {"organizer", "admin"}


def takes_late(state: State, now: datetime) -> bool:
    """Whether an entry that begins now is a late one: taken after the close, for a board of its own."""
    closes_at = state.competition.closes_at
    over = closes_at is not None and now >= closes_at and state.phase is not Phase.DRAFT
    return over and state.competition.late_submissions


def visible_track(state: State, kind: TrackKind, account: Account | None) -> Track:
    """A track that this person may read scores of; ``Forbidden`` before publication."""
    track = track_of(state, kind)
    if kind == "private" and not may_see_private(state, account):
        raise Forbidden("not-published", "The private board is shown when the organizers publish it.")
    return track
