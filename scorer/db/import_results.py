"""SQL for importing results: entries, labels and rulings, thousands of rows per statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, Text, any_, exists, insert, literal, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import Label, Measurement, Membership, Ruling, Submission, SubmissionEvent, Team, Track
from scorer.lifecycle import TRACK_KINDS, Status, TrackKind

IMPORTED_VERSION = "imported"
"""The ``scorer_version`` of imported measurements."""


@dataclass(frozen=True)
class ImportedEntry:
    """An entry to add, with ``fid`` and ``distance`` by track."""

    external_id: str
    public_id: str
    team: str
    accepted_at: datetime
    fid: Mapping[TrackKind, float]
    distance: Mapping[TrackKind, float]


@dataclass(frozen=True)
class Origin:
    """The origin of an import: the competition, the person, the source (``provenance``) and the time."""

    competition_id: int
    account_id: int
    provenance: dict[str, Any]
    now: datetime

    @property
    def decision(self) -> dict[str, Any]:
        """The columns that record who decides about an entry, and when."""
        return {"author_id": self.account_id, "created_at": self.now}


def add_entries(
    session: Session, origin: Origin, tracks: Mapping[TrackKind, Track], *, entries: Sequence[ImportedEntry]
) -> dict[str, int]:
    """Add scored entries with team, event and a measurement on each track. Returns their refs by external id."""
    teams = _add_teams(session, origin, entries)
    rows = [
        {
            "external_id": entry.external_id,
            "id": entry.public_id,
            "competition_id": origin.competition_id,
            "team_id": teams[entry.team],
            "account_id": origin.account_id,
            "file_name": entry.external_id,
            "bytes": 0,
            "note": "",
            "status": Status.SCORED,
            "accepted_at": entry.accepted_at,
            "finished_at": entry.accepted_at,
        }
        for entry in entries
    ]
    added = insert(Submission).returning(Submission.external_id, Submission.ref, sort_by_parameter_order=True)
    refs = {row.external_id: row.ref for row in session.execute(added, rows)}
    steps = [
        {"submission_ref": refs[entry.external_id], "status": Status.SCORED, "created_at": entry.accepted_at}
        for entry in entries
    ]
    session.execute(insert(SubmissionEvent), steps)
    for kind, track in tracks.items():
        measurements = [
            {
                "submission_ref": refs[entry.external_id],
                "track_id": track.id,
                "scorer_version": IMPORTED_VERSION,
                "fid": entry.fid[kind],
                "memorization_distance": entry.distance[kind],
                "closest_pairs": [],
                "histogram": {},
                "provenance": origin.provenance,
                "created_at": origin.now,
            }
            for entry in entries
        ]
        session.execute(insert(Measurement), measurements)
    return refs


def _add_teams(session: Session, origin: Origin, entries: Sequence[ImportedEntry]) -> dict[str, int]:
    """The ids of the entries' teams by name. Missing teams are added, with the time of their first entry."""
    since = {entry.team: entry.accepted_at for entry in reversed(entries)}
    rows = [
        {"competition_id": origin.competition_id, "name": name, "benchmark": False, "created_at": since[name]}
        for name in dict.fromkeys(entry.team for entry in entries)
    ]
    session.execute(postgresql.insert(Team).on_conflict_do_nothing(index_elements=["competition_id", "name"]), rows)
    named = select(Team.name, Team.id).where(Team.competition_id == origin.competition_id, _is_named(list(since)))
    return {row.name: row.id for row in session.execute(named)}


def _is_named(names: Sequence[str]) -> Any:
    return Team.name == any_(literal(list(names), ARRAY(Text)))


def add_labels(session: Session, origin: Origin, labels: Mapping[int, tuple[str, str]]) -> None:
    """Add decided labels, with their notes, by ref."""
    rows = [{"submission_ref": ref, "label": label, "note": note} for ref, (label, note) in labels.items()]
    if rows:
        session.execute(insert(Label), [row | origin.decision for row in rows])


def disqualify(session: Session, origin: Origin, refs: Sequence[int], *, reason: str) -> None:
    rows = [{"submission_ref": ref, "kind": "disqualify", "reason": reason} | origin.decision for ref in refs]
    if rows:
        session.execute(insert(Ruling), rows)


def imported_numbers(
    session: Session, competition_id: int, tracks: dict[TrackKind, Track]
) -> dict[str, tuple[float, ...]]:
    """The measurements of all imported entries of a competition by external id: FIDs, then distances, by track."""
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
    return {row[0]: tuple(row[1:]) for row in session.execute(query.add_columns(*fids, *distances))}


def has_own_entries(session: Session, competition_id: int) -> bool:
    """Whether a competition has entries that were not imported."""
    uploaded = (Submission.competition_id == competition_id) & Submission.external_id.is_(None)
    return bool(session.scalar(select(exists().where(uploaded))))


def load_teams_with_members(session: Session, competition_id: int, names: Sequence[str]) -> Sequence[str]:
    """The names that belong to teams with current or past members."""
    has_member = exists().where(Membership.team_id == Team.id)
    query = select(Team.name).where(Team.competition_id == competition_id, _is_named(names), has_member)
    return session.scalars(query).all()
