"""The leaderboard: measurements judged and ranked at the moment they are read, or as they stood at a past one."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState, visible_track
from scorer.db import competitions as db_competitions
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.leaderboard.board import EntryInfo, UnrankedReason
from scorer.db.submissions import labels
from scorer.db.tables import Account, Track
from scorer.db.teams import members
from scorer.errors import Forbidden, Invalid
from scorer.leaderboard import board_cache
from scorer.leaderboard.board import Benchmark, Board, CopyingTeam, DisqualifiedTeam, Place
from scorer.leaderboard.explanations import shorten_reason, why_copy
from scorer.leaderboard.rows import BoardRow, BoardRows, ranks_by_team, rows_of
from scorer.lifecycle import TrackKind, utc_day
from scorer.ranking.awards import Award, award_of

SNAPSHOT_KEY = "glance"


def visible_state(session: Session, slug: str, account: Account | None, now: datetime) -> CompetitionState:
    """A competition as far as boards depend on it, for somebody's eyes
    (:func:`scorer.competitions.competition_state.visible_state`)."""
    kept = board_cache.cache_of(session)
    if kept is None:
        return competition_state.visible_state(session, slug, account, now)
    glance = session.info[SNAPSHOT_KEY] = kept.glance(slug, now)
    return competition_state.require_visible(glance.state, account)


def board_version(
    session: Session, state: CompetitionState, kind: TrackKind, account: Account | None, now: datetime | None = None
) -> str:
    """A short name of everything the board depends on, for ETags: equal names, equal boards. ``now``: for boards that
    tell who has moved since the day began."""
    track, organizer = visible_track(state, kind, account), is_organizer(account)
    glance = session.info.get(SNAPSHOT_KEY)
    if glance is not None and glance.state is state:  # taken by this very request
        counts = glance.version(track.id, labels=organizer)
    else:
        counts = board.version_of(session, track, labels=organizer)
    day = None if now is None else utc_day(now)[0]
    inputs = (track.id, state.phase, organizer, day, _own_team_id(session, state, account), counts)
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:20]


def _own_team_id(session: Session, state: CompetitionState, account: Account | None) -> int | None:
    team = None if account is None else members.team_of(session, state.competition.id, account.id)
    return None if team is None else team.id


def standings(  # noqa: PLR0913 - whatever may be asked of a board
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    account: Account | None,
    *,
    after: int = 0,
    limit: int | None = None,
    late: bool = False,
    as_of: datetime | None = None,
    search: str = "",
    now: datetime | None = None,
) -> Board:
    """The board of a track from rank ``after + 1`` on, at most ``limit`` places; ``Forbidden`` for the private
    track before publication. ``late``: of the entries after the close, which have no private track. ``as_of``: as it
    was. ``search``: only the teams whose name contains this. ``now``: say who has moved since the day began."""
    track = visible_track(state, kind, account)
    _require_visible_then(session, state, kind, account, as_of)
    if late and kind != "public":
        raise Invalid("late-is-public", "Entries after the close are scored on the public track alone.")
    if as_of is not None:
        state = replace(state, tracks=db_competitions.tracks_at(session, state.tracks, as_of))
    reading = _BoardReader(session, state, track, account, late, as_of, now)
    return reading.board(after, limit, search)


def require_past(as_of: datetime | None, now: datetime) -> None:
    """``Invalid`` for a moment that has not come."""
    if as_of is not None and as_of > now:
        raise Invalid("not-yet", "A board can be shown as it was, not as it will be.")


def _require_visible_then(
    session: Session, state: CompetitionState, kind: TrackKind, account: Account | None, as_of: datetime | None
) -> None:
    if as_of is None or kind != "private" or is_organizer(account):
        return
    since = db_competitions.published_since(session, state.competition.id)
    if since is None or as_of < since:
        raise Forbidden("not-published-then", "The private board can be seen as it was since it was published.")


def rank_of(session: Session, state: CompetitionState, kind: TrackKind, account: Account) -> int | None:
    """The rank of a person's team on a track; ``Forbidden`` for the private one before publication."""
    visible_track(state, kind, account)
    team_id = _own_team_id(session, state, account)
    found = [] if team_id is None else rows_of(session, state.competition, state.tracks, kind).of_teams([team_id])
    return found[0].rank if found else None


def count_teams(session: Session, state: CompetitionState) -> int:
    """How many teams have a rank on the public board."""
    return len(rows_of(session, state.competition, state.tracks, "public"))


@dataclass(frozen=True)
class _BoardReader:
    """One board being read."""

    session: Session
    state: CompetitionState
    track: Track
    account: Account | None
    late: bool
    as_of: datetime | None
    now: datetime | None

    def board(self, after: int, limit: int | None, search: str) -> Board:
        lines, wanted = self._lines(self.track.kind, self.as_of), self._teams_named(search)
        found = lines.page(after, limit) if wanted is None else _page(lines.of_teams(wanted), after, limit)
        own = _own_team_id(self.session, self.state, self.account)
        mine = [] if own is None else lines.of_teams([own])
        apart = [_among(each, wanted) for each in (lines.benchmarks(), lines.copies(), lines.disqualified())]
        places = self._places([*found, *mine])
        return Board(
            state=self.state,
            track=self.track,
            threshold=tuning.newest_threshold(self.session, self.state.tracks[self.track.kind].id, self.as_of),
            places=places[: len(found)],
            benchmarks=self._benchmarks(apart[0]),
            copies=self._copies(apart[1]),
            teams=len(lines),
            late=self.late,
            disqualified=self._disqualified(apart[2]),
            own=places[-1] if mine else None,
            as_of=self.as_of,
        )

    def _lines(self, kind: str, at: datetime | None) -> BoardRows:
        return rows_of(self.session, self.state.competition, self.state.tracks, kind, late=self.late, at=at)

    def _teams_named(self, search: str) -> set[int] | None:
        words = search.strip()
        return board.teams_named(self.session, self.state.competition.id, words, self.as_of) if words else None

    def _names(self, lines: Sequence[BoardRow]) -> dict[int, EntryInfo]:
        return board.entry_info_of(self.session, [line.ref for line in lines], late=self.late, at=self.as_of)

    def _labels(self, lines: Sequence[BoardRow]) -> dict[int, str]:
        refs = [line.ref for line in lines]
        return labels.labels_of(self.session, refs) if refs and is_organizer(self.account) else {}

    def _places(self, lines: Sequence[BoardRow]) -> list[Place]:
        names, labels = self._names(lines), self._labels(lines)
        then, public = self._ranks_at_daybreak(lines), self._public_ranks(lines)

        def place(line: BoardRow) -> Place:
            rank, row = line.rank or 0, names[line.ref]
            before, award = then.get(line.team_id), self._award(rank)
            return Place(
                rank=rank,
                team_id=line.team_id,
                team=row.team,
                score=line.score,
                fid=line.fid,
                memorization_distance=line.memorization_distance,
                penalised=line.penalised,
                submission_id=row.id,
                accepted_at=line.accepted_at,
                entries=row.entries,
                last_entry_at=row.last_entry_at,
                label=labels.get(line.ref),
                moved=None if before is None else before - rank,
                public_rank=public.get(line.team_id),
                medal=award.medal,
                prize=award.prize,
            )

        return [place(line) for line in lines]

    def _award(self, rank: int) -> Award:
        competition = self.state.competition
        return award_of(rank, self.track.kind, medals=competition.medals, prizes=competition.prizes, late=self.late)

    def _ranks_at_daybreak(self, lines: Sequence[BoardRow]) -> dict[int, int | None]:
        """Where the teams were when the UTC day began, on the board that moves."""
        if self.now is None or self.late or self.as_of is not None or self.track.kind != "public" or not lines:
            return {}
        then = self._lines("public", utc_day(self.now)[0])
        return ranks_by_team(then.of_teams({line.team_id for line in lines}))

    def _public_ranks(self, lines: Sequence[BoardRow]) -> dict[int, int | None]:
        if self.track.kind != "private" or not lines:
            return {}
        return ranks_by_team(self._lines("public", self.as_of).of_teams({line.team_id for line in lines}))

    def _benchmarks(self, lines: Sequence[BoardRow]) -> list[Benchmark]:
        names = self._names(lines)
        return [
            Benchmark(names[line.ref].team, line.score, line.fid, line.memorization_distance, names[line.ref].id)
            for line in lines
        ]

    def _copies(self, lines: Sequence[BoardRow]) -> list[CopyingTeam]:
        names, labels, facts = self._names(lines), self._labels(lines), self._facts(lines)

        def copy(line: BoardRow) -> CopyingTeam:
            fact, row = facts[line.ref], names[line.ref]
            why = why_copy(fact.exact_copies or 0, fact.mirrored_copies or 0, fact.copied_share or 0.0)
            distance, label = line.memorization_distance, labels.get(line.ref)
            return CopyingTeam(row.team, why, distance, row.id, line.accepted_at, label)

        return [copy(line) for line in lines]

    def _disqualified(self, lines: Sequence[BoardRow]) -> list[DisqualifiedTeam]:
        names, labels, facts = self._names(lines), self._labels(lines), self._facts(lines)

        def out(line: BoardRow) -> DisqualifiedTeam:
            row, reason = names[line.ref], shorten_reason(facts[line.ref].reason or "")
            return DisqualifiedTeam(row.team, reason, row.id, line.accepted_at, labels.get(line.ref))

        return [out(line) for line in lines]

    def _facts(self, lines: Sequence[BoardRow]) -> dict[int, UnrankedReason]:
        return board.unranked_reasons_of(self.session, [line.ref for line in lines], at=self.as_of)


def _page(lines: list[BoardRow], after: int, limit: int | None) -> list[BoardRow]:
    return [line for line in lines if (line.rank or 0) > after][:limit]


def _among(lines: list[BoardRow], teams: set[int] | None) -> list[BoardRow]:
    return lines if teams is None else [line for line in lines if line.team_id in teams]
