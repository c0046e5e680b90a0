"""Sample competitions and boards, and their pages without a database."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TypeVar
from unittest.mock import patch

from fastapi import FastAPI

from api import error_handlers
from api.competitions import pages as pages_of_competitions
from api.http import dependencies
from api.http.response_cache import ResponseCache
from api.main import routers
from scorer.accounts.api_tokens import SCOPES
from scorer.accounts.roles import is_organizer, is_reviewer
from scorer.acting import Acting
from scorer.competitions import competition_roles, competition_state, rules
from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard.shown_tracks import ShownValue
from scorer.db.tables import Account, Competition, CompetitionRole, DataFile, ShownTrack, Track
from scorer.db.teams.members import QuotaUsage
from scorer.db.teams.storage import StorageUsage
from scorer.errors import NotFound
from scorer.leaderboard import board_cache, standings
from scorer.leaderboard.board import Board, Place, UnrankedTeam
from scorer.lifecycle import Phase, TrackKind, utc_day
from scorer.settings import Settings
from scorer.teams import quotas, storage
from scorer.teams.quotas import Quota, find_refusal, next_entry_at

Row = TypeVar("Row", Place, UnrankedTeam)
NOW = datetime(2026, 11, 2, 14, 5, 30, tzinfo=UTC)
SLUG = "textures"
DESCRIPTION = """Make new photographs of *textures* that nobody has taken: better than noise, not a copy.

## The images

Crops of 64 x 64 pixels from 14 photographs. See [the data](https://example.org/data).
"""
RULES = "1. One account each.\n2. No image of the training set, and nothing that is nearly one.\n"

# team, score, fid, memorization distance, penalised, entries, minutes since the last entry
DEMO = (
    ("Kernel density 0.40", 31.20418, 31.20418, 0.3811, False, 3, 12),
    ("Kernel density 0.25", 33.90127, 33.90127, 0.3702, False, 2, 47),
    ("Linear autoencoder 200", 35.11764, 35.11764, 0.3598, False, 5, 190),
    ("PCA Gaussian 64", 41.77093, 41.77093, 0.3847, False, 1, 260),
    ("Gaussian mixture 8 x 64", 43.05511, 43.05511, 0.3790, False, 4, 1500),
    ("Kernel density 0.80", 48.99013, 48.99013, 0.3955, False, 2, 2200),
    ("PCA Gaussian 16", 66.41288, 66.41288, 0.4021, False, 1, 3100),
    ("Blend of neighbours", 71.55902, 15.74298, 0.2200, False, 2, 4000),
    ("Noise of 8 grey levels", 93.27411, 16.78934, 0.1800, True, 12, 5100),
    ("One-hot mapping", 118.40277, 14.91875, 0.1260, True, 1, 6100),
    ("Crop and resize", 186.51943, 13.05636, 0.0700, True, 3, 9000),
    ("Nudged", 412.00150, 12.36004, 0.0300, True, 1, 20000),
)


def sample_organizer() -> Account:
    """Olga, an organizer of the sample competition."""
    role = CompetitionRole(competition_id=1, role="organizer", accepted_at=NOW)
    return Account(id=1, handle="olga", role="organizer", competition_roles=[role])


def sample_competition(**values: object) -> Competition:
    """A competition that closes two weeks after ``NOW``."""
    defaults = {
        "id": 1,
        "slug": SLUG,
        "title": "Textures that nobody photographed",
        "description": DESCRIPTION,
        "rules": RULES,
        "image_count": 10_000,
        "image_size": 64,
        "opens_at": NOW - timedelta(days=20),
        "closes_at": datetime(2026, 11, 16, 23, 59, tzinfo=UTC),
        "upload_grace_seconds": 900,
        "review_days": 14,
        "appeal_days": 7,
        "daily_limit": 5,
        "pending_limit": 2,
        "rejected_limit": 20,
        "max_team_size": 5,
        "final_picks": 2,
        "medals": {"gold": 2, "silver": 4, "bronze": 7},
        "score_decimals": 5,
        "prizes": [],
    }
    return Competition(**{**defaults, **values})


def sample_state(*, phase: Phase = Phase.OPEN, **values: object) -> CompetitionState:
    """A competition's state. ``values`` are its columns."""
    tracks: dict[TrackKind, Track] = {
        "public": Track(id=1, kind="public", extractor="efficientnet_lite0@1", epsilon=1e-15),
        "private": Track(id=2, kind="private", extractor="nasnetalarge@1", epsilon=1e-15),
    }
    return CompetitionState(sample_competition(**values), phase, tracks, ())


def sample_place(
    rank: int,
    team: str,
    score: float,
    fid: float,
    distance: float,
    penalised: bool,
    entries: int,
    minutes: int,
) -> Place:
    """A ranked row."""
    at = NOW - timedelta(minutes=minutes)
    numbers = rank, rank, rank, score, fid, distance, penalised, 1
    return Place(*numbers, team=team, submission_id=f"s{rank}", entries=entries, last_entry_at=at)


def sample_benchmark(score: float, team: str = "Held-out photographs") -> Place:
    """A benchmark entry."""
    return sample_place(0, team, score, score, 0.1834, False, 1, 0)


def sample_copy(
    team: str,
    reason: str = "100% of its images are training images, pixel by pixel (400 as they are, 0 mirrored).",
) -> UnrankedTeam:
    """A team with a copy as its only entry."""
    return UnrankedTeam(team, reason, 0.0, "c")


def sample_disqualified(
    team: str, reason: str = "Its generator is an autoencoder of the training images."
) -> UnrankedTeam:
    """A team with a disqualified entry."""
    return UnrankedTeam(team, reason, 0.2, "d")


def demo_board() -> Board:
    """The board of the demo: twelve teams, a benchmark, two copies."""
    return sample_board(
        [sample_place(rank, *row) for rank, row in enumerate(DEMO, 1)],
        benchmarks=[sample_benchmark(12.30417)],
        copies=[
            sample_copy("Raw copies"),
            sample_copy(
                "Mirrored copies",
                "100% of its images are training images, pixel by pixel (0 as they are, 400 mirrored).",
            ),
        ],
    )


def long_board(teams: int) -> Board:
    """A board with many teams, scores of every magnitude and names of every kind."""
    names = (
        "Ada",
        "wasserstein & sons",
        "Ögmundur Þór",
        "深度学习小组",
        "فريق الرؤية",
        "a_very_long_handle_without_any_space_in_it_42",
    )
    return sample_board(
        [
            sample_place(
                rank,
                f"{names[rank % 6]} {rank}",
                20 + 1.07**rank,
                20 + 1.03**rank,
                0.2 + 0.001 * (rank % 190),
                rank % 9 == 0,
                1 + rank * 7 % 120,
                rank * rank,
            )
            for rank in range(1, teams + 1)
        ],
        benchmarks=[sample_benchmark(20.5), sample_benchmark(25.123, "Baseline"), sample_benchmark(1e6, "Noise")],
    )


def with_shown_tracks(board: Board) -> Board:
    """Add three shown tracks to a board.

    The first has all entries. The second has every other entry, and no value for one of these. The third has the
    longest name and no entries.
    """
    names = ("fd_dinov2", "kid", "memorization_distance_of_copy_detection_")
    metrics = ("fid", "kid", "memorization_distance")
    shown = [
        ShownTrack(name=name, metric=metric, extractor="dinov2@1", reference="public", visibility="everybody")
        for name, metric in zip(names, metrics, strict=True)
    ]
    places = [replace(place, shown=_sample_values(place.rank, place.score)) for place in board.places]
    return replace(board, places=places, shown_tracks=shown)


def _sample_values(rank: int, score: float) -> dict[str, ShownValue]:
    values = {"fd_dinov2": ShownValue(7 * score, 0.0131 * score)}
    if rank % 2:
        values["kid"] = ShownValue(None if rank == 3 else 0.0001234 * rank, None)
    return values


def sample_board(
    places: list[Place],
    *,
    benchmarks: list[Place] | None = None,
    copies: list[UnrankedTeam] | None = None,
    of: CompetitionState | None = None,
    tau: float | None = 0.1905,
    track: TrackKind = "public",
) -> Board:
    """A board of one track, with medals and prizes."""
    of = of or sample_state()
    awards = of.awards_on(track)
    places = [replace(place, **awards.find_award(place.rank)._asdict()) for place in places]
    shown = (places, benchmarks or [], copies or [])
    return Board(of, of.tracks[track], tau, *shown, len(places), awards=awards)


def sample_data_file(number: int, name: str, count: int) -> DataFile:
    """A data file of the competition."""
    return DataFile(id=number, name=name, bytes=count, sha256=f"{number:064x}")


def allowance(*, daily: int | None = 5, charged: int = 2, pending: int = 0, rejected: int = 0) -> Quota:
    """A team's quota at ``NOW``, with limits of 2 entries in progress and 20 rejected ones."""
    of = Competition(daily_limit=daily, pending_limit=2, rejected_limit=20)
    usage = QuotaUsage(charged, pending, rejected)
    return Quota(of, usage, find_refusal(of, usage), utc_day(NOW)[1], next_entry_at(of, usage, NOW))


@dataclass
class SampleSite:
    """The data that replaces the database."""

    board: Board = field(default_factory=demo_board)
    boards: dict[str, Board] = field(default_factory=dict)
    """The boards of additional competitions, by slug."""
    states: list[CompetitionState] | None = None
    version: str = "v1"
    now: datetime = NOW
    account: Account | None = None
    accepted: bool = False
    allowance: Quota = field(default_factory=allowance)
    files: list[DataFile] = field(default_factory=list)

    def _standings(
        self,
        _: object,
        of: CompetitionState,
        kind: TrackKind,
        account: Account | None,
        *,
        late: bool = False,
        as_of: datetime | None = None,
        search: str = "",
        now: datetime | None = None,
    ) -> SimpleNamespace:
        track = competition_state.visible_track(of, kind, account)
        board = self.boards.get(of.competition.slug, self.board)

        def matching(rows: Iterable[Row]) -> list[Row]:
            return [row for row in rows if search.casefold() in row.team.casefold()]

        def page(_: object, after: int, limit: int | None) -> Board:
            return replace(
                board,
                state=of,
                track=track,
                places=[place for place in matching(board.places) if place.rank > after][:limit],
                benchmarks=matching(board.benchmarks),
                copies=matching(board.copies),
                disqualified=matching(board.disqualified),
                late=late,
                as_of=as_of,
            )

        return SimpleNamespace(board=page)

    def _compute_state(self, _: object, slug: str, _now: datetime) -> CompetitionState:
        for state in self._states():
            if state.competition.slug == slug:
                return replace(state, files=tuple(self.files))
        raise NotFound("no-competition", f"There is no competition {slug!r}.")

    def _version(self, _: object, of: CompetitionState, kind: TrackKind, account: Account | None, now: datetime) -> str:
        competition_state.visible_track(of, kind, account)
        return self.version

    def _states(self) -> list[CompetitionState]:
        if self.states is not None:
            return self.states
        return [self.board.state, *(board.state for board in self.boards.values())]

    def _shown_competitions(self, acting: Acting[Account | None]) -> list[Competition]:
        return [
            state.competition
            for state in self._states()
            if state.phase is not Phase.DRAFT or is_reviewer(acting.actor, state.competition.id)
        ]

    def _select_states(self, _: object, ids: Collection[int], _now: datetime) -> list[CompetitionState]:
        return [state for state in self._states() if state.competition.id in ids]

    def _count_teams(self, _: object, of: Iterable[CompetitionState]) -> dict[int, int]:
        return {state.competition.id: self.boards.get(state.competition.slug, self.board).teams for state in of}

    @contextmanager
    def app(self) -> Iterator[FastAPI]:
        """The application with this data."""
        app = FastAPI()
        app.state.response_cache = ResponseCache()
        app.state.settings = Settings(
            database_url="postgresql://x@127.0.0.1/x", redis_url="redis://127.0.0.1", blob_url="file:///tmp"
        )
        for router in routers():
            app.include_router(router)
        error_handlers.add_error_handlers(app)
        app.dependency_overrides = {
            dependencies.session: lambda: SimpleNamespace(info={}),
            dependencies.current_viewer: lambda: self.account and dependencies.Viewer(self.account, SCOPES, 1, "proof"),
            dependencies.request_time: lambda: self.now,
        }
        with (
            patch.object(pages_of_competitions, "charge_past_board", lambda *_: None),
            patch.object(standings, "standings", self._standings),
            patch.object(standings, "board_version", self._version),
            patch.object(competition_state, "load_state", self._compute_state),
            patch.object(board_cache, "find_cache", lambda _: None),
            patch.object(competition_state, "visible_competitions", self._shown_competitions),
            patch.object(competition_state, "load_states", self._select_states),
            patch.object(standings, "count_teams", self._count_teams),
            patch.object(rules, "has_accepted", lambda *_: self.accepted),
            patch.object(competition_roles, "judges_here", lambda _, of, account: is_organizer(account, of.id)),
            patch.object(quotas, "load_quota", lambda *_, **__: self.allowance),
            patch.object(storage, "load_competition_usage", lambda *_: StorageUsage(stored=3_000_000, staged=0)),
        ):
            yield app
