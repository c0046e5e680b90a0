"""SQL for labels: decided labels, early labels, and the statements of rulings about memorisation."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.tables import (
    EarlyLabel,
    Label,
    Ruling,
    Submission,
)


def early_labels(session: Session, competition_id: int) -> dict[int, str]:
    return _newest(session, competition_id, EarlyLabel, column=EarlyLabel.label)


def memorising_rulings(session: Session, competition_id: int) -> dict[int, bool | None]:
    """Whether the newest ruling on an entry says that it memorises, by ref. None if the ruling leaves that open."""
    return _newest(session, competition_id, Ruling, column=Ruling.memorising)


def newest_rows(competition_id: int, table: type[Any], *columns: Any) -> Select[Any]:
    """The ref and columns of each submission's newest row in an append-only table."""
    return (
        select(table.submission_ref, *columns)
        .ext(distinct_on(table.submission_ref))
        .join(Submission, Submission.ref == table.submission_ref)
        .where(Submission.competition_id == competition_id)
        .order_by(table.submission_ref, table.id.desc())
    )


def _newest(session: Session, competition_id: int, table: type[Any], *, column: Any) -> dict[int, Any]:
    return dict(session.execute(newest_rows(competition_id, table, column)).all())


def load_labels(session: Session, refs: Collection[int]) -> dict[int, str]:
    newest = (
        select(Label.submission_ref, Label.label)
        .ext(distinct_on(Label.submission_ref))
        .where(Label.submission_ref.in_(refs))
        .order_by(Label.submission_ref, Label.id.desc())
    )
    return dict(session.execute(newest).all())


def decided_labels(session: Session, competition_id: int) -> dict[int, str]:
    return _newest(session, competition_id, Label, column=Label.label)
