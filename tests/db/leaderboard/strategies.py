"""Random competitions for Hypothesis, written to the tables in bulk and ranked by the executable definition."""

import json
import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from scorer.db.leaderboard.ranked_entries import to_microseconds
from scorer.db.tables import Table
from scorer.metrics.mifid import EPSILON, is_copy, mifid
from scorer.ranking.columns import EntryColumns, FinalPicks, JudgingRules
from tests.pure.ranking import specification
from tests.pure.ranking.specification import ScoredEntry

START = datetime.fromisoformat("2026-03-14T12:00:00+00:00")
BASE = 10_000_000
"""Ids of drawn rows start here, far from the ids of other tests."""
PUBLIC, PRIVATE = BASE + 1, BASE + 2
TEAMS, BENCHMARK = 6, 5
DECIMALS = 1
MAX_FINAL_PICKS = 2
TAUS = (0.1, 0.25, 0.4)

DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]

minutes = st.integers(0, 9)
fids = st.sampled_from([1.0, 1.04, 1.06, 2.0, 7.5, 40.0])
distances = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.25, 0.5])
measured = st.tuples(minutes, fids, distances)


@dataclass(frozen=True)
class DrawnEntry:
    """An entry. Its measurements on a track are (minute, fid, distance), the newest last."""

    team: int
    accepted: int
    late: bool
    copied_share: float
    public: list[tuple[int, float, float]]
    private: list[tuple[int, float, float]]


@dataclass(frozen=True)
class DrawnCompetition:
    """Everything that a board depends on. Every list is a history, sorted by its first value, the minute."""

    entries: list[DrawnEntry]
    taus: dict[str, list[tuple[int, float]]]
    merges: list[tuple[int, int, int]]
    picks: list[tuple[int, int, list[int]]]
    rulings: list[tuple[int, int, str]]
    renamings: list[tuple[int, int]] = field(default_factory=list)

    def team_at(self, team: int, at: int) -> int:
        """The team that this team belongs to at a minute."""
        into = [other for minute, merged, other in self.flat_merges() if merged == team and minute <= at]
        return into[-1] if into else team

    def flat_merges(self) -> list[tuple[int, int, int]]:
        """Merges as the service writes them: teams that merged into a merged team earlier get their own rows."""
        now = {team: team for team in range(TEAMS)}
        rows = []
        for minute, team, other in self.merges:
            if BENCHMARK in {team, other} or now[team] != team or now[other] != other or team == other:
                continue
            for one in [team, *(merged for merged, into in now.items() if into == team and merged != team)]:
                now[one] = other
                rows.append((minute, one, other))
        return rows

    def name_at(self, team: int, at: int) -> str:
        return f"team {team} " + "'" * sum(renamed == team and minute <= at for minute, renamed in self.renamings)

    @staticmethod
    def is_late(entry: DrawnEntry) -> bool:
        """Whether an entry is late; benchmarks never are, since they are on every board."""
        return entry.late and entry.team != BENCHMARK

    def _judged(self, number: int, kind: str, at: int) -> ScoredEntry | None:
        entry = self.entries[number]
        known = [measured for measured in getattr(entry, kind) if measured[0] <= at]
        if not known:
            return None
        _, fid, distance = known[-1]
        taus = [tau for minute, tau in self.taus[kind] if minute <= at]
        words = [word for minute, ruled, word in self.rulings if ruled == number and minute <= at]
        ruling = (words or ["keep"])[-1]
        benchmark = entry.team == BENCHMARK
        tau = 0.0 if benchmark or ruling == "waive" else (taus or [math.nan])[-1]
        return ScoredEntry(
            ref=BASE + number,
            team=BASE + self.team_at(entry.team, at),
            score=mifid(fid, distance, tau, copied_share=entry.copied_share),
            accepted_at=START + timedelta(minutes=entry.accepted),
            copy=bool(is_copy(distance, entry.copied_share)),
            benchmark=benchmark,
            disqualified=ruling == "disqualify",
        )

    def field(self, kind: str, at: int, *, late: bool = False) -> list[ScoredEntry]:
        """The entries of a track at a minute."""
        numbers = [number for number, entry in enumerate(self.entries) if self.is_late(entry) == late]
        return [judged for number in numbers if (judged := self._judged(number, kind, at)) is not None]

    def finals(self, at: int) -> dict[Any, tuple[int, ...]]:
        """The entries that rank teams on the final board."""
        newest: dict[Any, list[int]] = {
            BASE + team: [BASE + number for number in chosen] for minute, team, chosen in self.picks if minute <= at
        }
        return specification.final_refs(self.field("public", at), newest, MAX_FINAL_PICKS, DECIMALS)

    def standings(self, kind: str, at: int, *, late: bool = False) -> specification.Standings:
        entries = self.field(kind, at, late=late)
        if kind == "public":
            return specification.standings(entries, DECIMALS)
        return specification.final_standings(entries, self.finals(at), DECIMALS)


def _sorted_lists(*parts: Any, most: int) -> Any:
    return st.lists(st.tuples(minutes, *parts), max_size=most).map(lambda rows: sorted(rows, key=lambda row: row[0]))


@st.composite
def competitions(draw: st.DrawFn) -> DrawnCompetition:
    """Up to 12 entries of six teams, one of them a benchmark, with everything that can happen to them."""
    history = st.lists(measured, max_size=2).map(lambda rows: sorted(rows, key=lambda row: row[0]))
    once = st.lists(measured, min_size=1, max_size=2).map(lambda rows: sorted(rows, key=lambda row: row[0]))
    entry = st.builds(
        DrawnEntry,
        team=st.integers(0, TEAMS - 1),
        accepted=minutes,
        late=st.sampled_from([False, False, False, True]),
        copied_share=st.sampled_from([0.0, 0.0, 0.5, 0.6]),
        public=once,
        private=history,
    )
    entries = draw(st.lists(entry, max_size=12))
    team, number = st.integers(0, TEAMS - 1), st.integers(0, max(0, len(entries) - 1))
    few = 3 if entries else 0
    return DrawnCompetition(
        entries=entries,
        taus={kind: draw(_sorted_lists(st.sampled_from(TAUS), most=2)) for kind in ("public", "private")},
        merges=draw(_sorted_lists(team, team, most=3)),
        picks=draw(_sorted_lists(st.integers(0, BENCHMARK - 1), st.lists(number, max_size=MAX_FINAL_PICKS), most=few)),
        rulings=draw(_sorted_lists(number, st.sampled_from(["keep", "disqualify", "waive"]), most=few)),
        renamings=draw(_sorted_lists(team, most=2)),
    )


@dataclass
class Writer:
    """Inserts rows with prepared statements on one connection."""

    session: Session
    account: int
    """The author of every row."""
    _prepared: set[str] = field(default_factory=set)

    def insert(self, table: str, columns: str, rows: list[tuple[Any, ...]], **same: Any) -> None:
        """Insert rows in one statement; ``same`` are columns with the same value in all rows."""
        names = [*columns.split(), *same]
        if table not in self._prepared:
            self._prepare(table, names)
        document = json.dumps([dict(zip(names, (*row, *same.values()), strict=True)) for row in rows], default=str)
        if rows:
            self.session.execute(text(f"EXECUTE write_{table} (:rows)"), {"rows": document})

    def _prepare(self, table: str, names: list[str]) -> None:
        listed = ", ".join(names)
        identity = "OVERRIDING SYSTEM VALUE" if {"id", "ref"} & set(names) else ""
        types = Table.metadata.tables[table].columns
        record = ", ".join(f"{name} {types[name].type.compile(DIALECT)}" for name in names)
        source = f"SELECT {listed} FROM json_to_recordset($1) AS given ({record})"
        self.session.execute(
            text(f"PREPARE write_{table} (json) AS INSERT INTO {table} ({listed}) {identity} {source}")
        )
        self._prepared.add(table)


def _at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def write_competition(writer: Writer, drawn: DrawnCompetition) -> None:
    """Write a drawn competition to the tables."""
    insert, account = writer.insert, writer.account
    insert(
        "competitions",
        "id slug title description rules image_count image_size upload_grace_seconds review_days pending_limit"
        " rejected_limit max_team_size final_picks late_submissions invitation_only prizes medals score_decimals"
        " created_by created_at",
        [
            (
                BASE,
                "drawn",
                "Drawn",
                "",
                "",
                8,
                8,
                0,
                1,
                1,
                1,
                5,
                MAX_FINAL_PICKS,
                True,
                False,
                [],
                {},
                DECIMALS,
                account,
                START,
            )
        ],
    )
    tracks = [(PUBLIC, "public"), (PRIVATE, "private")]
    insert("tracks", "id kind", tracks, competition_id=BASE, extractor="tiny", signed=False, epsilon=1e-15)
    names = [(BASE + team, drawn.name_at(team, 99), team == BENCHMARK) for team in range(TEAMS)]
    insert("teams", "id name benchmark", names, competition_id=BASE, created_at=START)
    _write_entries(writer, drawn)
    _write_history(writer, drawn)


def _write_entries(writer: Writer, drawn: DrawnCompetition) -> None:
    insert, account = writer.insert, writer.account
    entries = [
        (
            BASE + number,
            f"e{number}",
            BASE + entry.team,
            str(number),
            drawn.is_late(entry),
            entry.copied_share,
            _at(entry.accepted),
        )
        for number, entry in enumerate(drawn.entries)
    ]
    same = {"competition_id": BASE, "account_id": account, "file_name": "", "bytes": 1, "note": "", "blob_key": ""}
    columns = "ref id team_id sha256 late copied_share accepted_at"
    insert("submissions", columns, entries, **same, status="scored")
    measurements = [
        (BASE + number, track, *measured)
        for number, entry in enumerate(drawn.entries)
        for track, history in ((PUBLIC, entry.public), (PRIVATE, entry.private))
        for measured in history
    ]
    jobs = [(BASE + job,) for job in range(len(measurements))]
    done = {"queue": "score", "state": "done", "priority": 0, "turn": 0, "attempts": 1}
    insert("jobs", "id", jobs, **done, due_at=START, created_at=START)
    rows = [
        (BASE + job, ref, track, fid, distance, _at(minute))
        for job, (ref, track, minute, fid, distance) in enumerate(measurements)
    ]
    empty = {"scorer_version": "1", "artifact_key": "", "closest_pairs": [], "histogram": {}, "provenance": {}}
    columns = "job_id submission_ref track_id fid memorization_distance created_at"
    insert("measurements", columns, rows, **empty)


def _write_history(writer: Writer, drawn: DrawnCompetition) -> None:
    insert, account = writer.insert, writer.account
    for kind, track in (("public", PUBLIC), ("private", PRIVATE)):
        taus = [(tau, _at(minute)) for minute, tau in drawn.taus[kind]]
        same = {"track_id": track, "method": "manual", "choice": {}, "reason": ""}
        insert("thresholds", "tau created_at", taus, **same)
    merges = [(BASE + team, BASE + into, _at(minute)) for minute, team, into in drawn.flat_merges()]
    by = {"competition_id": BASE, "account_id": account}
    insert("team_merges", "team_id into_team_id created_at", merges, **by)
    renamed = []
    for number, (minute, team) in enumerate(drawn.renamings):
        before = f"team {team} " + "'" * sum(renamed == team for _, renamed in drawn.renamings[:number])
        renamed.append((BASE + team, before, f"{before}'", _at(minute)))
    insert("team_renamings", "team_id before after created_at", renamed, **by)
    picks = [(BASE + team, [BASE + number for number in chosen], _at(minute)) for minute, team, chosen in drawn.picks]
    insert("pick_sets", "team_id submission_refs created_at", picks, author_id=account)
    rulings = [(BASE + number, word, f"{word} at {minute}", _at(minute)) for minute, number, word in drawn.rulings]
    insert("rulings", "submission_ref kind reason created_at", rulings, author_id=account)


NOW = 99


def build_field(drawn: DrawnCompetition, kind: str) -> EntryColumns:
    """The newest measurements, as the product reads them from the tables."""
    rows = [
        (
            BASE + number,
            BASE + entry.team,
            to_microseconds(START) + 60_000_000 * entry.accepted,
            0,
            *getattr(entry, kind)[-1][1:],
            math.nan,
            entry.copied_share,
            drawn.is_late(entry),
            0,
        )
        for number, entry in enumerate(drawn.entries)
        if getattr(entry, kind)
    ]
    kinds = (*[np.int64] * 4, *[np.float64] * 4, np.bool_, np.int64)
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return EntryColumns(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def build_rules(drawn: DrawnCompetition, kind: str) -> JudgingRules:
    """The rules in force at the end."""
    into = {team: other for _, team, other in drawn.flat_merges()}
    ruled = {number: word for _, number, word in drawn.rulings}
    taus = [tau for _, tau in drawn.taus[kind]]

    def refs(word: str) -> list[int]:
        return [BASE + number for number, word_of in ruled.items() if word_of == word]

    return JudgingRules(
        tau=taus[-1] if taus else math.nan,
        epsilon=EPSILON,
        decimals=DECIMALS,
        merged=np.array(sorted(BASE + team for team in into), np.int64),
        into=np.array([BASE + into[team] for team in sorted(into)], np.int64),
        benchmarks=np.array([BASE + BENCHMARK]),
        disqualified=np.array(refs("disqualify"), np.int64),
        waived=np.array(refs("waive"), np.int64),
    )


def build_picks(drawn: DrawnCompetition) -> FinalPicks:
    """The newest picks of every team."""
    newest = {team: chosen for _, team, chosen in drawn.picks}
    pairs = sorted((BASE + ref, BASE + team) for team, chosen in newest.items() for ref in chosen)
    ref, team = zip(*pairs, strict=True) if pairs else ((), ())
    return FinalPicks(np.array(ref, np.int64), np.array(team, np.int64))
