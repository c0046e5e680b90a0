"""A competition with rows that tests write directly, and readers of its boards."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.tables import Account, Publication, Ruling, Submission, Team, TeamRenaming
from scorer.leaderboard import rows
from scorer.lifecycle import TrackKind
from scorer.teams import teams
from tests.api.conftest import Service
from tests.factories import add_evidence, add_measurement, make_competition, make_scored, set_tau

TAU = 0.25


class Arena:
    """A competition with rows that tests write directly. Each change is a separate transaction."""

    def __init__(self, service: Service, **changes: Any) -> None:
        self.service = service
        self.now = datetime.now(UTC)
        self.begin = service.context.sessions.begin
        with self.begin() as session:
            self.state = make_competition(session, self.now - timedelta(days=9), **changes)
            self.slug = self.state.competition.slug
            for kind in ("public", "private"):
                set_tau(session, self.state, kind, TAU, self.now - timedelta(days=9))

    def team(self, session: Session, handle: str) -> Team:
        account = session.query(Account).filter_by(handle=handle).one()
        return teams.find_or_create_team(Acting(session, account, self.now), self.state.competition.id)

    def entry(
        self, handle: str, public: float, private: float | None = None, *, days: float = 3, s: float = 0.5
    ) -> Any:
        """Add an entry that was accepted and measured ``days`` days ago, with the distance ``s``."""
        with self.begin() as session:
            at = self.now - timedelta(days=days)
            made = make_scored(session, self.state, self.team(session, handle), fid=public, distance=s, now=at)
            if private is not None:
                add_measurement(session, self.state, made, fid=private, distance=s, now=at, kind="private")
            return made

    def rule(self, entry: Submission, kind: str, reason: str = "", *, days: float = 0) -> None:
        at = self.now - timedelta(days=days)
        author = self.state.competition.created_by
        with self.begin() as session:
            row = Ruling(submission_ref=entry.ref, kind=kind, reason=reason, memorising=None, author_id=author)
            row.created_at = at
            session.add(row)

    def publish(self, *, published: bool = True, final: bool = True, days: float = 0) -> None:
        at = self.now - timedelta(days=days)
        author = self.state.competition.created_by
        with self.begin() as session:
            act = Publication(competition_id=self.state.competition.id, published=published, final=final, reason="")
            act.author_id = author
            act.created_at = at
            session.add(act)

    def get(self, who: str | None = None, **params: Any) -> Any:
        return self.service.call(who, "GET", f"/competitions/{self.slug}/leaderboard", params=params)

    def board(self, who: str | None = None, **params: Any) -> Any:
        answer = self.get(who, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()


def ranks(board: Any) -> list[str]:
    return [place["team"] for place in board["entries"]]


def rename(team: Team, name: str, *, by: int, at: datetime) -> None:
    session = Session.object_session(team)
    assert session is not None
    row = TeamRenaming(competition_id=team.competition_id, team_id=team.id, before=team.name, after=name, account_id=by)
    row.created_at = at
    team.name = name
    session.add(row)


def read_board(
    session: Session, state: CompetitionState, kind: TrackKind, *, late: bool, at: datetime | None
) -> list[Any]:
    standings = rows.load_listing(session, state, kind, late=late, at=at)
    apart = [
        [line.ref for line in standings.unranked(rows_of_kind)]
        for rows_of_kind in (standings.copies, standings.disqualified)
    ]
    return [
        len(standings),
        standings.page(0, None),
        standings.page(1, 1),
        [standings.find_team_row(line.team_id) for line in standings.page(0, None)],
        standings.unranked(standings.benchmarks),
        *apart,
    ]


def add_errors(arena: Arena, entries: list[Submission], error: float, *, days: float = 0, private: bool = True) -> None:
    """Add evidence with this standard error of the FID, on the public track and, if ``private``, the private track."""
    findings: list[dict[str, Any]] = [
        {"name": "fid_infinity", "standard_error": 9.0},
        {"name": "fid", "standard_error": error},
    ]
    with arena.begin() as session:
        state = load_state(session, arena.slug, arena.now)
        for entry in entries:
            for kind in ("public", "private") if private else ("public",):
                now = arena.now - timedelta(days=days)
                add_evidence(session, state, session.merge(entry), now=now, kind=kind, findings=findings)


def retune(arena: Arena, kind: str, tau: float) -> Any:
    body = {"method": "manual", "tau": tau, "reason": "another tau"}
    return arena.service.call("organizer", "POST", f"/competitions/{arena.slug}/tracks/{kind}/thresholds", json=body)


def rule(arena: Arena, entry: Any, kind: str) -> Any:
    body = {"kind": kind, "reason": "Copied."}
    return arena.service.call("organizer", "POST", f"/submissions/{entry.id}/rulings", json=body)


def private(arena: Arena, who: str | None = None, **params: Any) -> list[str]:
    return ranks(arena.board(who, track="private", **params))
