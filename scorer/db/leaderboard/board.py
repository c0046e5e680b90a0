"""What a board says beside ranks, in SQL: names, counts, reasons, judged scores, and the version that it has.

The ranking itself is done with numpy (:func:`scorer.leaderboard.rows.ranked_board_of`), of the columns that
:mod:`scorer.db.leaderboard.columns`
reads.
"""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Select, any_, bindparam, func, literal, literal_column, select, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session
from sqlalchemy.sql.selectable import LateralFromClause

from scorer.db.leaderboard import changes
from scorer.db.leaderboard.scores import Score, id_list, judged_entries, name_at, newest_rulings
from scorer.db.tables import Measurement, Submission, Team, Track
from scorer.db.teams import merges


class EntryInfo(NamedTuple):
    """An entry on a board: whose it is, and how many scored entries that team has on this board."""

    ref: int
    id: str
    team: str
    entries: int
    last_entry_at: datetime


class UnrankedReason(NamedTuple):
    """Why an entry is listed apart: how many of its images are training images, and the reason of its ruling."""

    ref: int
    exact_copies: int | None
    mirrored_copies: int | None
    copied_share: float | None
    reason: str | None


def entry_info_of(
    session: Session, refs: Collection[int], *, late: bool = False, at: datetime | None = None
) -> dict[int, EntryInfo]:
    """What a board says of entries beside their scores, by ref; as of the moment ``at``."""
    rows = session.execute(_names(late, at), {"refs": list(refs)}) if refs else ()
    return {row.ref: EntryInfo(*row) for row in rows}


@lru_cache(maxsize=64)  # putting the statement together takes longer than most answers to it
def _names(late: bool, at: datetime | None) -> Select[Any]:
    merged = merges.newest_merges(at)
    name = (Team.name if at is None else name_at(Team, at)).label("team")
    line = (
        select(Submission.ref, Submission.id, Team.id.label("team_id"), name)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.ref == any_(bindparam("refs", type_=ARRAY(BigInteger))))
        .subquery("line")
    )
    entries = _entries_of(line.c.team_id, late, at)
    query = select(line.c.ref, line.c.id, line.c.team, entries.c.entries, entries.c.last_entry_at)
    return query.select_from(line.join(entries, true()))


def _entries_of(team_id: ColumnElement[int], late: bool, at: datetime | None) -> LateralFromClause:
    counted = select(
        func.count(Submission.ref).label("entries"), func.max(Submission.accepted_at).label("last_entry_at")
    ).where(merges.belongs_to_team(team_id, at), Submission.status == "scored", Submission.late == late)
    if at is not None:
        measured = select(Measurement.id).where(
            Measurement.submission_ref == Submission.ref, Measurement.created_at <= at
        )
        counted = counted.where(measured.exists())
    return counted.lateral("entries")


def unranked_reasons_of(
    session: Session, refs: Collection[int], *, at: datetime | None = None
) -> dict[int, UnrankedReason]:
    """Why entries are listed apart, by ref; as of the moment ``at``."""
    ruled = newest_rulings(at)
    query = select(
        Submission.ref, Submission.exact_copies, Submission.mirrored_copies, Submission.copied_share, ruled.c.reason
    ).outerjoin(ruled, ruled.c.submission_ref == Submission.ref)
    rows = session.execute(query.where(Submission.ref == any_(id_list(refs)))) if refs else ()
    return {row.ref: UnrankedReason(*row) for row in rows}


def teams_named(session: Session, competition_id: int, words: str, at: datetime | None = None) -> set[int]:
    """The teams whose name contains ``words``, whatever the letter case."""
    name = Team.name if at is None else name_at(Team, at)
    wanted = func.lower(func.normalize(literal(words), literal_column("NFKC")))
    here = func.strpos(func.lower(func.normalize(name, literal_column("NFKC"))), wanted) > 0
    return set(session.scalars(select(Team.id).where(Team.competition_id == competition_id, here)))


def team_names(session: Session, competition_id: int) -> dict[int, str]:
    """The names of a competition's teams, by id."""
    query = select(Team.id, Team.name).where(Team.competition_id == competition_id)
    return {row.id: row.name for row in session.execute(query)}


def refs_of_team(session: Session, team_id: int) -> list[int]:
    """The entries that belong to a team now, with those of all that was merged into it."""
    return list(session.scalars(select(Submission.ref).where(merges.belongs_to_team(team_id))))


def scores_of_track(session: Session, track_id: int, *, tau: float | None = None) -> list[Score]:
    """Every judged entry of a track that is neither a benchmark nor late, in order of ref: what tau is chosen by."""
    scores = judged_entries(track_id=track_id, tau=tau).subquery("scores")
    competing = ~scores.c.benchmark & ~scores.c.late
    return [Score(*row) for row in session.execute(select(scores).where(competing).order_by(scores.c.ref))]


def score_of(session: Session, track_id: int, submission_ref: int) -> Score | None:
    """One entry, judged."""
    row = session.execute(judged_entries(track_id=track_id, refs=[submission_ref])).one_or_none()
    return None if row is None else Score(*row)


def version_of(session: Session, track: Track, *, labels: bool) -> tuple[int, ...]:
    """What a board depends on: equal versions, equal boards. ``labels``: for those who see them."""
    here = select(Track.id).where(Track.competition_id == track.competition_id)
    # The private board takes from the public one what teams are ranked by; the public one knows nothing of the other.
    tracks = session.scalars(here.where((Track.id == track.id) | (Track.kind == "public"))).all()
    return changes.version_of(session, track.competition_id, tracks, labels=labels)
