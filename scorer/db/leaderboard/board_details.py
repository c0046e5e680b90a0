"""SQL for the details that a board shows: team names, entry counts, reasons. Also scores of single entries.

Ranking itself is done in numpy (:func:`scorer.leaderboard.rows.load_ranked_board`), over the columns that
:mod:`scorer.db.leaderboard.ranked_entries` reads.
"""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    any_,
    bindparam,
    func,
    literal,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.selectable import LateralFromClause

from scorer.db.leaderboard import changes
from scorer.db.leaderboard.scores import Score, id_list, judged_entries, name_at, newest_rulings
from scorer.db.tables import Measurement, Submission, Team, Track
from scorer.db.teams import merges
from scorer.lifecycle import Status


class EntryInfo(NamedTuple):
    """An entry on a board: its id, its team, and how many scored entries that team has on this board."""

    ref: int
    id: str
    team: str
    entries: int
    last_entry_at: datetime


class UnrankedReason(NamedTuple):
    """Why an entry is listed without a rank: its numbers of training-image copies, and the reason for its ruling."""

    ref: int
    exact_copies: int | None
    mirrored_copies: int | None
    copied_share: float | None
    reason: str | None


def load_entry_info(
    session: Session, refs: Collection[int], *, late: bool = False, at: datetime | None = None
) -> dict[int, EntryInfo]:
    rows = session.execute(_entry_info(late, at), {"refs": list(refs)}) if refs else ()
    return {row.ref: EntryInfo(*row) for row in rows}


@lru_cache(maxsize=64)  # building the statement usually takes longer than running it
def _entry_info(late: bool, at: datetime | None) -> Select[Any]:
    merged = merges.newest_merges(at)
    name = (Team.name if at is None else name_at(Team, at)).label("team")
    entry = (
        select(Submission.ref, Submission.id, Team.id.label("team_id"), name)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.ref == any_(bindparam("refs", type_=ARRAY(BigInteger))))
        .subquery("line")
    )
    entries = _entry_counts(entry.c.team_id, late, at)
    query = select(entry.c.ref, entry.c.id, entry.c.team, entries.c.entries, entries.c.last_entry_at)
    return query.select_from(entry.join(entries, true()))


def _entry_counts(team_id: ColumnElement[int], late: bool, at: datetime | None) -> LateralFromClause:
    counted = select(
        func.count(Submission.ref).label("entries"), func.max(Submission.accepted_at).label("last_entry_at")
    ).where(merges.belongs_to_team(team_id, at), Submission.status == Status.SCORED, Submission.late == late)
    if at is not None:
        measured = select(Measurement.id).where(
            Measurement.submission_ref == Submission.ref, Measurement.created_at <= at
        )
        counted = counted.where(measured.exists())
    return counted.lateral("entries")


def load_unranked_reasons(
    session: Session, refs: Collection[int], *, at: datetime | None = None
) -> dict[int, UnrankedReason]:
    ruled = newest_rulings(at)
    query = select(
        Submission.ref, Submission.exact_copies, Submission.mirrored_copies, Submission.copied_share, ruled.c.reason
    ).outerjoin(ruled, ruled.c.submission_ref == Submission.ref)
    rows = session.execute(query.where(Submission.ref == any_(id_list(refs)))) if refs else ()
    return {row.ref: UnrankedReason(*row) for row in rows}


def teams_named(session: Session, competition_id: int, text: str, *, at: datetime | None = None) -> set[int]:
    """The ids of the teams with ``text`` in their name, ignoring case and comparing in NFKC."""
    name = Team.name if at is None else name_at(Team, at)
    contains = func.strpos(_normalised(name), _normalised(literal(text))) > 0
    return set(session.scalars(select(Team.id).where(Team.competition_id == competition_id, contains)))


def _normalised(text: ColumnElement[str] | InstrumentedAttribute[str]) -> ColumnElement[str]:
    return func.lower(func.normalize(text, literal_column("NFKC")))


def normalised_text(connection: Connection, text: str) -> str:
    """A text normalised for searching: in NFKC and lower case."""
    return str(connection.scalar(select(_normalised(literal(text)))))


def normalised_names(connection: Connection, competition_id: int) -> dict[int, str]:
    return _names(connection, Team.competition_id == competition_id)


def load_normalised_names(connection: Connection, team_ids: Collection[int]) -> dict[int, str]:
    return _names(connection, Team.id == any_(id_list(team_ids)))


def _names(connection: Connection, wanted: ColumnElement[bool]) -> dict[int, str]:
    query = select(Team.id, _normalised(Team.name).label("name")).where(wanted)
    return {row.id: row.name for row in connection.execute(query)}


def load_team_names(session: Session, team_ids: Collection[int]) -> dict[int, str]:
    query = select(Team.id, Team.name).where(Team.id == any_(id_list(team_ids)))
    return {row.id: row.name for row in session.execute(query)} if team_ids else {}


def load_ids_and_teams(session: Session, refs: Collection[int]) -> dict[int, tuple[str, int]]:
    """The public ids of some entries and the ids of their teams, after merges, by ref."""
    merged = merges.newest_merges()
    query = (
        select(Submission.ref, Submission.id, func.coalesce(merged.c.into_team_id, Submission.team_id))
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .where(Submission.ref == any_(id_list(refs)))
    )
    rows = session.execute(query) if refs else ()
    return {ref: (public_id, team) for ref, public_id, team in rows}


def load_entry_names(session: Session, refs: Collection[int]) -> dict[int, tuple[str, str]]:
    """The public ids of some entries and the names of their teams, after merges, by ref."""
    entries = load_ids_and_teams(session, refs)
    names = load_team_names(session, {team for _, team in entries.values()})
    return {ref: (public_id, names[team]) for ref, (public_id, team) in entries.items()}


def load_team_refs(session: Session, team_id: int) -> list[int]:
    return list(session.scalars(select(Submission.ref).where(merges.belongs_to_team(team_id))))


def load_score(session: Session, track_id: int, submission_ref: int) -> Score | None:
    return load_scores(session, track_id, [submission_ref]).get(submission_ref)


def load_scores(session: Session, track_id: int, refs: Collection[int]) -> dict[int, Score]:
    rows = session.execute(_scores_query(track_id), {"refs": list(refs)})
    return {row.ref: Score(*row) for row in rows}


def load_measured_scores(
    session: Session, track_id: int, refs: Collection[int]
) -> dict[int, tuple[Score, Measurement]]:
    rows = session.execute(_measured_scores_query(track_id), {"refs": list(refs)})
    return {row.ref: (Score(*row[:-1]), row[-1]) for row in rows}


@lru_cache(maxsize=64)
def _measured_scores_query(track_id: int) -> Select[Any]:
    judged = judged_entries(track_id=track_id, refs="refs").subquery("judged")
    return select(*judged.c, Measurement).join(Measurement, Measurement.id == judged.c.measurement_id)


@lru_cache(maxsize=64)  # building the statement takes longer than running it
def _scores_query(track_id: int) -> Select[Any]:
    return judged_entries(track_id=track_id, refs="refs")


def compute_version(session: Session, track: Track, *, extra_kinds: Collection[str] = ()) -> tuple[int, ...]:
    """The version of a track's board: equal versions mean equal boards. ``extra_kinds``: some of ``EXTRA_KINDS``."""
    track_ids = select(Track.id).where(Track.competition_id == track.competition_id)
    # A private board depends on the public one, which ranks the teams without picks. The reverse never holds.
    tracks = session.scalars(track_ids.where((Track.id == track.id) | (Track.kind == "public"))).all()
    return changes.compute_version(session, track.competition_id, tracks, extra_kinds=extra_kinds)
