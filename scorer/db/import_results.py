"""SQL for importing results: entries, labels and rulings, each kind in one statement however many there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    DateTime,
    Double,
    Text,
    cast,
    column,
    exists,
    false,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import Label, Measurement, Membership, Ruling, Submission, SubmissionEvent, Team, Track
from scorer.lifecycle import TRACK_KINDS, TrackKind

IMPORTED_VERSION = "imported"
"""The ``scorer_version`` of imported measurements."""


@dataclass(frozen=True)
class Batch:
    """Entries to add, as columns; ``fid`` and ``distance`` by track."""

    external_ids: Sequence[str]
    public_ids: Sequence[str]
    teams: Sequence[str]
    accepted_at: Sequence[datetime]
    fid: dict[str, Sequence[float]]
    distance: dict[str, Sequence[float]]


@dataclass(frozen=True)
class Origin:
    """Who imports into which competition, from what (``provenance``), and when."""

    competition_id: int
    account_id: int
    provenance: dict[str, Any]
    now: datetime


def _rows(**columns: tuple[Sequence[Any], Any]) -> Any:
    """Lists as the columns of a table ``rows``; its last column, ``place``, counts from 1."""
    arrays = [cast(literal(list(values), ARRAY(kind)), ARRAY(kind)) for values, kind in columns.values()]
    named = [column(name, kind) for name, (_, kind) in columns.items()]
    return func.unnest(*arrays).table_valued(*named, with_ordinality="place", name="rows").render_derived()


def add_entries(session: Session, origin: Origin, tracks: dict[TrackKind, Track], *, batch: Batch) -> None:
    """Add entries as scored, each with its team, its event and a measurement on each track."""
    _add_teams(session, origin, batch)
    _add_submissions(session, origin, batch)
    rows = _rows(external_id=(batch.external_ids, Text))
    steps = select(Submission.ref, literal("scored"), Submission.accepted_at).join_from(
        rows, Submission, _is_imported(origin, rows)
    )
    session.execute(
        insert(SubmissionEvent).from_select(["submission_ref", "status", "created_at"], steps.order_by(rows.c.place))
    )
    for kind in TRACK_KINDS:
        _add_measurements(session, origin, tracks[kind], batch=batch, kind=kind)


def _is_imported(origin: Origin, rows: Any) -> Any:
    return (Submission.competition_id == origin.competition_id) & (Submission.external_id == rows.c.external_id)


def _add_teams(session: Session, origin: Origin, batch: Batch) -> None:
    rows = _rows(name=(batch.teams, Text), at=(batch.accepted_at, DateTime(timezone=True)))
    names = select(literal(origin.competition_id, BigInteger), rows.c.name, false(), func.min(rows.c.at))
    names = names.group_by(rows.c.name).order_by(func.min(rows.c.place))
    new = postgresql.insert(Team).from_select(["competition_id", "name", "benchmark", "created_at"], names)
    session.execute(new.on_conflict_do_nothing(index_elements=["competition_id", "name"]))


def _add_submissions(session: Session, origin: Origin, batch: Batch) -> None:
    rows = _rows(
        external_id=(batch.external_ids, Text),
        id=(batch.public_ids, Text),
        team=(batch.teams, Text),
        at=(batch.accepted_at, DateTime(timezone=True)),
    )
    values: dict[str, Any] = {
        "external_id": rows.c.external_id,
        "id": rows.c.id,
        "competition_id": literal(origin.competition_id, BigInteger),
        "team_id": Team.id,
        "account_id": literal(origin.account_id, BigInteger),
        "file_name": rows.c.external_id,
        "bytes": literal(0, BigInteger),
        "note": literal(""),
        "status": literal("scored"),
        "accepted_at": rows.c.at,
        "finished_at": rows.c.at,
        "late": false(),
    }
    is_team = (Team.competition_id == origin.competition_id) & (Team.name == rows.c.team)
    entries = select(*values.values()).join_from(rows, Team, is_team).order_by(rows.c.place)
    session.execute(insert(Submission).from_select(list(values), entries))


def _add_measurements(session: Session, origin: Origin, track: Track, *, batch: Batch, kind: TrackKind) -> None:
    rows = _rows(
        external_id=(batch.external_ids, Text), fid=(batch.fid[kind], Double), distance=(batch.distance[kind], Double)
    )
    values: dict[str, Any] = {
        "submission_ref": Submission.ref,
        "track_id": literal(track.id, BigInteger),
        "scorer_version": literal(IMPORTED_VERSION),
        "fid": rows.c.fid,
        "memorization_distance": rows.c.distance,
        "closest_pairs": literal([], JSONB),
        "histogram": literal({}, JSONB),
        "provenance": literal(origin.provenance, JSONB),
        "created_at": literal(origin.now),
    }
    entries = select(*values.values()).join_from(rows, Submission, _is_imported(origin, rows)).order_by(rows.c.place)
    session.execute(insert(Measurement).from_select(list(values), entries))


def add_labels(session: Session, origin: Origin, labels: dict[str, tuple[str, str]]) -> None:
    """Add decided labels, with their notes, by external id."""
    rows = _rows(
        external_id=(list(labels), Text),
        label=([label for label, _ in labels.values()], Text),
        note=([note for _, note in labels.values()], Text),
    )
    values: dict[str, Any] = {
        "submission_ref": Submission.ref,
        "label": rows.c.label,
        "note": rows.c.note,
        "author_id": literal(origin.account_id, BigInteger),
        "created_at": literal(origin.now),
    }
    entries = select(*values.values()).join_from(rows, Submission, _is_imported(origin, rows)).order_by(rows.c.place)
    session.execute(insert(Label).from_select(list(values), entries))


def disqualify(session: Session, origin: Origin, external_ids: Sequence[str], *, reason: str) -> None:
    """Add a ruling that disqualifies each of these entries."""
    rows = _rows(external_id=(external_ids, Text))
    values: dict[str, Any] = {
        "submission_ref": Submission.ref,
        "kind": literal("disqualify"),
        "reason": literal(reason),
        "author_id": literal(origin.account_id, BigInteger),
        "created_at": literal(origin.now),
    }
    entries = select(*values.values()).join_from(rows, Submission, _is_imported(origin, rows)).order_by(rows.c.place)
    session.execute(insert(Ruling).from_select(list(values), entries))


class KnownNumbers(NamedTuple):
    """The measurements of an imported entry, as the table had them."""

    fid_public: float
    fid_private: float
    distance_public: float
    distance_private: float


def imported_numbers(session: Session, competition_id: int, tracks: dict[TrackKind, Track]) -> dict[str, KnownNumbers]:
    """The measurements of all imported entries of a competition, by external id."""
    fids: list[Any] = []
    distances: list[Any] = []
    query = select(Submission.external_id).where(
        Submission.competition_id == competition_id, Submission.external_id.is_not(None)
    )
    for kind in TRACK_KINDS:
        imported = aliased(Measurement)
        on_track = (imported.track_id == tracks[kind].id) & (imported.scorer_version == IMPORTED_VERSION)
        query = query.join(imported, (imported.submission_ref == Submission.ref) & on_track)
        fids.append(imported.fid)
        distances.append(imported.memorization_distance)
    return {row[0]: KnownNumbers(*row[1:]) for row in session.execute(query.add_columns(*fids, *distances))}


def has_own_entries(session: Session, competition_id: int) -> bool:
    """Whether a competition has entries that were not imported."""
    uploaded = (Submission.competition_id == competition_id) & Submission.external_id.is_(None)
    return bool(session.scalar(select(exists().where(uploaded))))


def teams_of_people(session: Session, competition_id: int, names: Sequence[str]) -> Sequence[str]:
    """Which of these names belong to teams that have or had members."""
    rows = _rows(name=(names, Text))
    has_member = exists().where(Membership.team_id == Team.id)
    query = select(Team.name).join_from(rows, Team, Team.name == rows.c.name)
    return session.scalars(query.where(Team.competition_id == competition_id, has_member).distinct()).all()
