"""Inserts many scored entries in bulk, as if workers had scored each one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Job, Label, Measurement, Submission, Team
from scorer.lifecycle import TrackKind


@dataclass(frozen=True)
class EntryRow:
    """An entry. ``numbers`` are (FID, memorization distance) by track; ``minute`` is its upload time after ``now``."""

    team: str
    numbers: Mapping[str, tuple[float, float]]
    label: str | None = None
    minute: int = 0


def add_rows(session: Session, state: CompetitionState, rows: Sequence[EntryRow], now: datetime) -> list[int]:
    """Insert the entries and return their refs in the same order."""
    competition_id, author_id = state.competition.id, state.competition.created_by
    names = list(dict.fromkeys(row.team for row in rows))
    made = insert(Team).returning(Team.id, sort_by_parameter_order=True)
    common = {"competition_id": competition_id, "benchmark": False, "created_at": now}
    ids = dict(zip(names, session.scalars(made, [{"name": name, **common} for name in names]), strict=True))
    entries = [
        {
            "id": f"e{competition_id}-{index}",
            "competition_id": competition_id,
            "team_id": ids[row.team],
            "account_id": author_id,
            "file_name": "entry.zip",
            "bytes": 1,
            "sha256": f"{competition_id * 10**9 + index:064x}",
            "note": "",
            "blob_key": f"submissions/{competition_id}-{index}.zip",
            "status": "scored",
            "accepted_at": now + timedelta(minutes=row.minute),
            "late": False,
        }
        for index, row in enumerate(rows)
    ]
    refs = list(session.scalars(insert(Submission).returning(Submission.ref, sort_by_parameter_order=True), entries))
    for kind in ("public", "private"):
        _measure(session, state, kind, [(ref, row) for ref, row in zip(refs, rows, strict=True)], now)
    labels = [
        {"submission_ref": ref, "label": row.label, "note": "", "author_id": author_id, "created_at": now}
        for ref, row in zip(refs, rows, strict=True)
        if row.label
    ]
    if labels:
        session.execute(insert(Label), labels)
    return refs


def _measure(
    session: Session, state: CompetitionState, kind: TrackKind, rows: Sequence[tuple[int, EntryRow]], now: datetime
) -> None:
    rows = [(ref, row) for ref, row in rows if kind in row.numbers]
    if not rows:
        return
    job: dict[str, Any] = {
        "queue": "score", "track_id": state.tracks[kind].id, "state": "done", "priority": int(kind == "private"),
        "turn": 0, "due_at": now, "attempts": 1, "created_at": now, "finished_at": now,
    }  # fmt: skip
    made = insert(Job).returning(Job.id, sort_by_parameter_order=True)
    jobs = list(session.scalars(made, [{**job, "submission_ref": ref} for ref, _ in rows]))
    measured = [
        {
            "job_id": job_id,
            "submission_ref": ref,
            "track_id": state.tracks[kind].id,
            "scorer_version": "1",
            "fid": row.numbers[kind][0],
            "memorization_distance": row.numbers[kind][1],
            "distance_se": 0.0005,
            "closest_pairs": [],
            "histogram": {},
            "artifact_key": "",
            "provenance": {},
            "created_at": now,
        }
        for job_id, (ref, row) in zip(jobs, rows, strict=True)
    ]
    session.execute(insert(Measurement), measured)
