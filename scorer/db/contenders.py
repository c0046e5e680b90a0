"""The entries by which teams can rank on a track, whatever tau is."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.finals import field


def contenders(session: Session, track_id: int, *, decimals: int) -> set[int]:
    """The refs of the entries that a board is made of, without benchmarks and what was disqualified; a copy among them
    has no score."""
    entry = field(track_id, decimals=decimals, tau=0.0)
    return set(session.scalars(select(entry.c.ref).where(~entry.c.benchmark, ~entry.c.disqualified)))
