"""The board cache equals the tables after every change. Also past boards, rulings, moves and the list of all places."""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, make_url, text

from deploy.standalone.ephemeral import Servers
from scorer.acting import Acting
from scorer.competitions import setup, spec
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db import competitions
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.changes import EXTRA_KINDS
from scorer.db.session import Connections
from scorer.db.tables import Account, PickSet, TeamMerge, Track
from scorer.import_export.release_columns import TABLES
from scorer.import_export.release_tables import Pseudonyms, table_rows
from scorer.leaderboard import board_cache, board_reader
from scorer.leaderboard.board_cache import BoardCache
from scorer.leaderboard.standings import standings
from scorer.lifecycle import TRACK_KINDS, TrackKind
from tests.api.conftest import Service
from tests.api.leaderboard.arena import Arena, ranks, read_board, rename
from tests.factories import add_measurement, set_label, set_tau


def test_a_board_shows_moves_the_viewers_row_and_disqualified_teams(service: Service) -> None:
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 2})
    ada = arena.entry("ada", 10.0)
    arena.entry("bob", 20.0)
    arena.entry("eve", 30.0)
    before = arena.get()
    assert before.json()["entries"][0]["medal"] == "gold"
    assert [place["moved"] for place in before.json()["entries"]] == [0, 0, 0]
    arena.entry("eve", 15.0, days=0)
    board = arena.board("bob", limit=1)
    assert (ranks(board), board["own"]["team"], board["own"]["rank"], board["own"]["moved"]) == (["Ada"], "Bob", 3, -1)
    assert [place["moved"] for place in arena.board()["entries"]] == [0, 1, -1]
    assert arena.board()["own"] is None
    assert ranks(arena.board(search="EV")) == ["Eve"]
    assert arena.board(search="ev")["entries"][0]["rank"] == 2
    arena.rule(ada, "disqualify", "An autoencoder of the training images.\n\nSeen by two reviewers.")
    after = arena.get(None)
    assert ranks(after.json()) == ["Eve", "Bob"]
    assert after.json()["disqualified"] == [
        {"team": "Ada", "reason": "An autoencoder of the training images.", "submission_id": None, "label": None}
    ]
    assert arena.board("organizer")["disqualified"][0]["submission_id"] == ada.id
    assert after.headers["etag"] != before.headers["etag"]
    again = arena.service.call(
        None, "GET", f"/competitions/{arena.slug}/leaderboard", headers={"If-None-Match": after.headers["etag"]}
    )
    assert again.status_code == 304
    arena.rule(ada, "keep")
    assert ranks(arena.board()) == ["Ada", "Eve", "Bob"]
    assert arena.board()["disqualified"] == []


def test_boards_and_entries_show_the_spread_of_the_fid_over_draws(service: Service) -> None:
    arena = Arena(service, entries="generator", draws={"public": 2, "private": 3})
    ada, bob = arena.entry("ada", 10.0, 20.0), arena.entry("bob", 11.0)

    def measure(kind: TrackKind, draws: list[float], *, hours: float = 0.0) -> None:
        mean, now = sum(draws) / len(draws), arena.now + timedelta(hours=hours)
        with arena.begin() as session:
            entry = session.merge(ada)
            add_measurement(session, arena.state, entry, fid=mean, distance=0.5, now=now, kind=kind, draws=draws)

    measure("public", [9.0, 11.0])
    measure("private", [19.0, 20.0, 21.0])
    spread = pytest.approx(2**0.5)
    assert [place["fid_spread"] for place in arena.board()["entries"]] == [spread, None]
    rows = list(csv.DictReader(io.StringIO(arena.get(format="csv").text)))
    assert [row["fid_spread"] for row in rows] == [str(2**0.5), ""]
    page = service.http.get(f"/competitions/{arena.slug}").text
    assert re.findall(r'data-label="FID spread">(.*?)<', page) == ["1.414", "–"]
    (seen,) = service.call("ada", "GET", f"/submissions/{ada.id}").json()["measurements"]
    drawn = [{"fid": fid, "memorization_distance": 0.5} for fid in (9.0, 11.0)]
    assert (seen["track"], seen["fid_spread"], seen["draws"]) == ("public", spread, drawn)
    (seen,) = service.call("bob", "GET", f"/submissions/{bob.id}").json()["measurements"]
    assert (seen["fid_spread"], seen["draws"]) == (None, None)
    arena.publish()
    measure("private", [8.0], hours=1)
    (place,) = arena.board(track="private")["entries"]
    assert (place["fid"], place["fid_spread"]) == (20.0, 1.0), "the final board is that of its publication"
    with arena.begin() as session:
        state = load_state(session, arena.slug, arena.now)
        released = list(table_rows(session, state, "ranks", names=Pseudonyms(b"key")))
    column = [column.name for column in TABLES["ranks"]].index("fid_spread")
    assert [row[column] for row in released] == [spread, None, 1.0]


def test_a_waived_penalty_has_no_effect(service: Service) -> None:
    arena = Arena(service)
    entry = arena.entry("ada", 10.0, s=0.2)
    arena.entry("bob", 20.0)
    assert [(place["team"], place["penalised"]) for place in arena.board()["entries"]] == [
        ("Bob", False),
        ("Ada", True),
    ]
    arena.rule(entry, "waive")
    assert [(place["team"], place["score"]) for place in arena.board()["entries"]] == [("Ada", 10.0), ("Bob", 20.0)]
    seen = arena.service.call("ada", "GET", f"/submissions/{entry.id}").json()["measurements"][0]
    assert (seen["penalised"], seen["rank"], seen["would_be_rank"]) == (False, 1, 1)
    copy = arena.entry("eve", 0.1, s=0.0)
    arena.rule(copy, "waive")
    assert [entry["team"] for entry in arena.board()["copies"]] == ["Eve"]


def test_the_final_board_ranks_by_picks_and_shows_the_shake_up(service: Service) -> None:
    arena = Arena(service, final_picks=1, prizes=[{"place": 1, "amount": "$2,000"}])
    arena.entry("ada", 10.0, 50.0)
    other = arena.entry("ada", 11.0, 5.0)
    arena.entry("bob", 20.0, 20.0)
    private = arena.board("organizer", track="private")
    assert [(place["team"], place["score"]) for place in private["entries"]] == [("Bob", 20.0), ("Ada", 50.0)]
    assert [(place["public_rank"], place["shake_up"], place["prize"]) for place in private["entries"]] == [
        (2, 1, "$2,000"),
        (1, -1, None),
    ]
    with arena.begin() as session:
        picks = PickSet(team_id=arena.team(session, "ada").id, submission_refs=[other.ref], created_at=arena.now)
        picks.author_id = arena.state.competition.created_by
        session.add(picks)
    assert ranks(arena.board("organizer", track="private")) == ["Ada", "Bob"]
    rows = list(csv.DictReader(io.StringIO(arena.get("organizer", track="private", format="csv").text)))
    assert (rows[0]["public_rank"], rows[0]["shake_up"], rows[0]["prize"]) == ("1", "0", "$2,000")
    arena.rule(other, "disqualify", "Copied.")
    board = arena.board("organizer", track="private")
    assert (ranks(board), [entry["team"] for entry in board["disqualified"]]) == (["Bob"], ["Ada"])
    assert ranks(arena.board()) == ["Ada", "Bob"], "the public board still has the entry that was not picked"


def test_past_boards_equal_the_boards_shown_then(service: Service) -> None:
    arena = Arena(service)
    first = arena.entry("ada", 10.0, 10.0, days=6)
    arena.entry("bob", 20.0, 20.0, days=4)
    with arena.begin() as session:
        session.merge(arena.state.competition).closes_at = arena.now - timedelta(days=2)
        add_measurement(session, arena.state, first, fid=30.0, distance=0.5, now=arena.now - timedelta(days=2))
        rename(arena.team(session, "ada"), "Lace", by=arena.state.competition.created_by, at=arena.now)
    arena.rule(first, "disqualify", days=1)

    def then(who: str | None = None, *, days: float, **params: Any) -> Any:
        return arena.get(who, as_of=(arena.now - timedelta(days=days)).isoformat(), **params)

    scores = {
        days: [(place["team"], place["score"]) for place in then(days=days).json()["entries"]] for days in (7, 5, 3)
    }
    assert scores == {7: [], 5: [("Ada", 10.0)], 3: [("Ada", 10.0), ("Bob", 20.0)]}
    board = then(days=1.5).json()
    assert [(place["team"], place["score"], place["moved"]) for place in board["entries"]] == [
        ("Bob", 20.0, None),
        ("Ada", 30.0, None),
    ]
    assert datetime.fromisoformat(board["as_of"]) == arena.now - timedelta(days=1.5)
    assert [entry["team"] for entry in then(days=0.5).json()["disqualified"]] == ["Ada"]
    assert [entry["team"] for entry in arena.board()["disqualified"]] == ["Lace"]
    assert then(days=-1).status_code == 422
    assert arena.get(as_of="2026-01-01T00:00:00").status_code == 422, "a time without a time zone"
    private: dict[str, Any] = {"days": 3, "track": "private"}
    assert then("ada", **private).status_code == 403
    arena.publish(days=0.9)
    assert then("ada", **private).json()["type"].endswith("not-published-then")
    assert ranks(then("organizer", **private).json()) == ["Ada", "Bob"]
    assert ranks(then("ada", days=0.8, track="private").json()) == ["Bob"]
    arena.publish(published=False)
    assert then("ada", days=0.8, track="private").status_code == 403


def test_a_past_private_board_uses_final_picks_after_a_replacement(service: Service) -> None:
    arena = Arena(service, final_picks=1)
    arena.entry("ada", 10.0, 50.0)
    arena.entry("ada", 11.0, 5.0)
    arena.entry("bob", 20.0, 20.0)
    assert ranks(arena.board("organizer", track="private")) == ["Bob", "Ada"]
    with arena.begin() as session:
        replaced = session.merge(arena.state.tracks["private"])
        replaced.kind = "former"
        replaced.replaced_at = arena.now
        session.flush()
        other = {"extractor": "efficientnet_lite2@1", "signed": False, "epsilon": replaced.epsilon}
        session.add(Track(competition_id=replaced.competition_id, kind="private", **other))
    assert ranks(arena.board("organizer", track="private")) == []
    then = (arena.now - timedelta(days=1)).isoformat()
    assert ranks(arena.board("organizer", track="private", as_of=then)) == ["Bob", "Ada"]


class Changes:
    """All kinds of changes to a board, one after another."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.first = arena.entry("ada", 10.0, 30.0)
        self.second = arena.entry("bob", 20.0, 20.0)
        self.third = arena.entry("eve", 30.0, 10.0)

    def new_entry(self) -> None:
        self.arena.entry("eve", 15.0, 12.0, days=0)

    def new_measurement(self) -> None:
        with self.arena.begin() as session:
            add_measurement(session, self.arena.state, self.first, fid=25.0, distance=0.5, now=self.arena.now)

    def new_private_measurement(self) -> None:
        with self.arena.begin() as session:
            state, now = self.arena.state, self.arena.now
            add_measurement(session, state, self.second, fid=5.0, distance=0.5, now=now, kind="private")

    def retune(self) -> None:
        with self.arena.begin() as session:
            set_tau(session, self.arena.state, "public", 0.6, self.arena.now)
            set_tau(session, self.arena.state, "private", 0.55, self.arena.now)

    def waive(self) -> None:
        self.arena.rule(self.third, "waive")

    def disqualify(self) -> None:
        self.arena.rule(self.second, "disqualify", "out")

    def pick(self) -> None:
        with self.arena.begin() as session:
            team = self.arena.team(session, "eve")
            picks = PickSet(team_id=team.id, submission_refs=[self.third.ref], created_at=self.arena.now)
            picks.author_id = self.arena.state.competition.created_by
            session.add(picks)

    def make_late(self) -> None:
        with self.arena.begin() as session:
            session.execute(text("UPDATE submissions SET late = true WHERE ref = :ref"), {"ref": self.first.ref})

    def make_copy(self) -> None:
        with self.arena.begin() as session:
            change = text("UPDATE submissions SET copied_share = 0.9 WHERE ref = :ref")
            session.execute(change, {"ref": self.second.ref})

    def keep(self) -> None:
        self.arena.rule(self.second, "keep")

    def merge(self) -> None:
        with self.arena.begin() as session:
            ids = [self.arena.team(session, handle).id for handle in ("eve", "bob")]
            row = TeamMerge(competition_id=self.arena.state.competition.id, team_id=ids[0], into_team_id=ids[1])
            row.account_id = self.arena.state.competition.created_by
            row.created_at = self.arena.now
            session.add(row)

    def benchmark(self) -> None:
        with self.arena.begin() as session:
            self.arena.team(session, "ada").benchmark = True

    def many(self) -> None:
        """Change more entries than a row of the change feed names."""
        with self.arena.begin() as session:
            session.execute(text("UPDATE submissions SET accepted_at = accepted_at + interval '1 minute'"))


STEPS = (
    "new_entry",
    "new_measurement",
    "new_private_measurement",
    "retune",
    "waive",
    "disqualify",
    "pick",
    "make_late",
    "make_copy",
    "keep",
    "merge",
    "benchmark",
    "many",
)


def test_cached_boards_equal_the_tables_after_every_change(service: Service) -> None:
    arena = Arena(service, final_picks=2)
    changes = Changes(arena)
    connections = Connections(service.context.settings, max_connections=2)
    cache = BoardCache(connections)
    past = arena.now - timedelta(days=1)
    kinds: list[tuple[TrackKind, bool]] = [("public", False), ("private", False), ("public", True)]
    seen: set[Any] = set()
    for step in STEPS:
        getattr(changes, step)()
        snapshot = cache.current_snapshot(arena.slug, arena.now)
        version = tuple(snapshot.version(arena.state.tracks[kind].id, extra_kinds=EXTRA_KINDS) for kind, _ in kinds)
        assert version not in seen, f"{step} changes the board"
        seen.add(version)
        with service.context.sessions() as session:
            for kind, late in kinds:
                for at in (None, past):
                    plain = read_board(session, arena.state, kind, late=late, at=at)
                    session.info["board_cache"] = cache
                    assert read_board(session, arena.state, kind, late=late, at=at) == plain, (step, kind, late, at)
                    del session.info["board_cache"]
            for track_kind, counted in zip(TRACK_KINDS, version, strict=False):
                track = competitions.load_tracks(session, arena.state.competition.id)[track_kind]
                assert board_details.compute_version(session, track, extra_kinds=EXTRA_KINDS) == counted
    connections.close()


def test_labels_and_picks_do_not_change_the_boards_of_others(service: Service) -> None:
    arena = Arena(service)
    entry = arena.entry("ada", 10.0, 20.0)

    def etags() -> list[str]:
        return [arena.get(who).headers["etag"] for who in (None, "bob", "organizer")]

    before = etags()
    with arena.begin() as session:
        set_label(session, entry, "ae", arena.now)
    labelled = etags()
    assert (labelled[:2], labelled[2] == before[2]) == (before[:2], False)
    with arena.begin() as session:
        picks = PickSet(team_id=arena.team(session, "ada").id, submission_refs=[entry.ref], created_at=arena.now)
        picks.author_id = arena.state.competition.created_by
        session.add(picks)
        set_tau(session, arena.state, "private", 0.9, arena.now)
        add_measurement(session, arena.state, entry, fid=1.0, distance=0.5, now=arena.now, kind="private")
    assert etags() == labelled


def test_late_commits_are_not_missed(service: Service) -> None:
    """The late row has a lower id than a row that was already read."""
    arena = Arena(service)
    arena.entry("ada", 10.0)
    slow = service.context.sessions()
    with slow.begin():
        set_tau(slow, arena.state, "public", 0.9, arena.now)
        arena.entry("bob", 20.0)
        assert ranks(arena.board()) == ["Ada", "Bob"]
        assert not any(place["penalised"] for place in arena.board()["entries"])
    slow.close()
    assert all(place["penalised"] for place in arena.board()["entries"])


def test_the_cache_follows_a_restored_database(service: Service, servers: Servers) -> None:
    arena = Arena(service)
    arena.entry("ada", 10.0)
    arena.publish()
    assert arena.get(track="private").status_code == 200
    with arena.begin() as session:
        # A restored database has fewer rows, and the change feed does not show it.
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        session.execute(text(f"{others} WHERE datname = current_database() AND pid <> pg_backend_pid()"))
    with owning(servers, service) as connection:
        connection.execute(text("DELETE FROM publications"))
        connection.execute(text("DELETE FROM board_changes"))
    assert arena.get(track="private").status_code == 403
    assert ranks(arena.board()) == ["Ada"]


@contextmanager
def owning(servers: Servers, service: Service) -> Iterator[Connection]:
    """A connection of the database's owner, which may delete from append-only tables."""
    settings = service.context.settings
    name = make_url(settings.database_url.get_secret_value()).database
    owner = make_url(servers.postgres.owner_url).set(database=name)
    engine = create_engine(owner)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def test_unknown_competitions_and_drafts_have_no_board(service: Service) -> None:
    assert service.call(None, "GET", "/competitions/none/leaderboard").status_code == 404
    arena = Arena(service, opens_at=None, closes_at=None)
    assert arena.get().status_code == 404
    assert arena.get("organizer").status_code == 200
    with arena.begin() as session:
        setup.change(
            Acting(session, session.query(Account).filter_by(handle="organizer").one(), arena.now),
            arena.slug,
            spec.CompetitionChanges(opens_at=arena.now - timedelta(days=1)),
        )
    assert arena.get().status_code == 200, "a cached competition is also up to date"


def test_other_database_sessions_have_no_board_cache(service: Service) -> None:
    with service.context.sessions() as session:
        assert board_cache.find_cache(session) is None


def test_the_list_of_all_places_equals_the_board(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_reader, "PLACES_AT_A_TIME", 2)
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3}, prizes=[{"place": 1, "amount": "a bone"}])
    for number, handle in enumerate(("ada", "bob", "eve", "organizer")):
        arena.entry(handle, 10 + number, 40 - number, days=3)
        arena.entry(handle, 30 - number, 50, days=1)
    late = arena.entry("ada", 3, days=0.5)
    with arena.begin() as session:
        session.merge(late).late = True
        ids = {handle: arena.team(session, handle).id for handle in ("bob", "eve")}
        account = arena.state.competition.created_by
        merge: dict[str, Any] = {"competition_id": arena.state.competition.id, "account_id": account}
        session.add(
            TeamMerge(team_id=ids["eve"], into_team_id=ids["bob"], created_at=arena.now - timedelta(days=1), **merge)
        )
    everything: list[dict[str, Any]] = [
        {"kind": "public"},
        {"kind": "private"},
        {"kind": "public", "late": True},
        {"kind": "public", "as_of": arena.now - timedelta(days=2)},
        {"kind": "private", "as_of": arena.now - timedelta(days=2)},
        {"kind": "public", "search": "b"},
    ]
    with arena.begin() as session:
        organizer = session.query(Account).filter_by(handle="organizer").one()
        state: CompetitionState = load_state(session, arena.slug, arena.now)
        for options in everything:
            kind = options.pop("kind")
            board = standings(session, state, kind, account=organizer, **options)
            expected = board.board(session, 0, None).places
            assert expected
            places = [place for part in board.places(lambda: nullcontext(session)) for place in part]
            assert places == expected, (kind, options)
