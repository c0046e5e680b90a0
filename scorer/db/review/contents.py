"""SQL for what zips contain: which submissions have equal zips or equal images."""

from collections.abc import Sequence

from sqlalchemy import any_, select, union
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import id_list
from scorer.db.tables import Submission


def with_duplicates(session: Session, competition_id: int, refs: Sequence[int]) -> Sequence[int]:
    """The refs of entries and of all others of the competition with the same zip or the same images: whatever decides
    whether those are flagged."""
    of = select(Submission.sha256, Submission.pixels_sha256).where(Submission.ref == any_(id_list(refs))).subquery("of")
    # One look-up each: a single one with OR would read all submissions, as no index has both columns.
    same = [
        select(Submission.ref)
        .join(of, getattr(of.c, name) == getattr(Submission, name))
        .where(Submission.competition_id == competition_id)
        for name in ("sha256", "pixels_sha256")
    ]
    return session.scalars(union(select(Submission.ref).where(Submission.ref == any_(id_list(refs))), *same)).all()
