"""SQL for counts of p-values: those of a competition's tracks, and adding up what has changed since the last sweep."""

from collections.abc import Collection

import numpy as np
from sqlalchemy import func, select, text, union_all
from sqlalchemy.orm import Session

from scorer.db.tables import PValueChange, PValueCount
from scorer.metrics.cosine import Indices
from scorer.metrics.statistics.false_discovery import BINS

ADD_UP = text("""
    WITH taken AS (DELETE FROM p_value_changes RETURNING track_id, quantity, bin, change)
    INSERT INTO p_value_counts AS counted (track_id, quantity, bin, entries)
    SELECT track_id, quantity, bin, sum(change) FROM taken GROUP BY track_id, quantity, bin
    ON CONFLICT (track_id, quantity, bin) DO UPDATE SET entries = counted.entries + excluded.entries
""")


def counts_of(session: Session, track_ids: Collection[int]) -> Indices:
    """How many p-values of the newest evidence on tracks lie in each bin, (BINS,): at most some hundred rows for each
    track, and what has changed since the last sweep."""
    counted = select(PValueCount.bin, PValueCount.entries.label("number")).where(PValueCount.track_id.in_(track_ids))
    changed = select(PValueChange.bin, PValueChange.change).where(PValueChange.track_id.in_(track_ids))
    both = union_all(counted, changed).subquery("both").c
    counts = np.zeros(BINS, np.int64)
    for bin_, number in session.execute(select(both.bin, func.sum(both.number)).group_by(both.bin)):
        counts[bin_] = number
    return counts


def add_up_changes(session: Session) -> None:
    """Add the changes that are committed to the counts. Nobody else writes these, and who writes changes does not
    wait."""
    session.execute(ADD_UP)
