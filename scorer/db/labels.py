"""What people have said about entries, in SQL; the decided labels are in :mod:`scorer.db.lookups`."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.tables import CoarseLabel, Ruling, Submission


def coarse_labels(session: Session, competition_id: int) -> dict[int, str]:
    """The newest early guess at every entry of a competition, by ref."""
    return _newest(session, competition_id, CoarseLabel, CoarseLabel.label)


def memorising_rulings(session: Session, competition_id: int) -> dict[int, bool | None]:
    """What the newest ruling on every entry of a competition says about memorisation, by ref; None: nothing."""
    return _newest(session, competition_id, Ruling, Ruling.memorising)


def _newest(session: Session, competition_id: int, table: type[Any], column: Any) -> dict[int, Any]:
    """A column of each submission's newest row of a history."""
    newest = (
        select(table.submission_ref, column)
        .ext(distinct_on(table.submission_ref))
        .join(Submission, Submission.ref == table.submission_ref)
        .where(Submission.competition_id == competition_id)
        .order_by(table.submission_ref, table.id.desc())
    )
    return {ref: value for ref, value in session.execute(newest)}  # noqa: C416 - rows are not pairs to a type checker
