"""Labels as columns that match a board's rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scorer.submissions.labels import LABELS, MEMORISES, LabelInfo, build_label_columns

refs = st.integers(1, 12)


@given(st.sets(refs), st.dictionaries(refs, st.sampled_from(LABELS)))
def test_each_entry_has_its_label_and_no_other(entries: set[int], drawn: dict[int, str]) -> None:
    labels = {ref: LabelInfo(label, MEMORISES.get(label)) for ref, label in drawn.items()}
    columns = build_label_columns(labels, np.array(sorted(entries), np.int64))
    rows = zip(sorted(entries), columns.number.tolist(), columns.memorising.tolist(), strict=True)
    for ref, number, memorising in rows:
        assert (None if number < 0 else LABELS[number]) == drawn.get(ref)
        assert (None if np.isnan(memorising) else bool(memorising)) == MEMORISES.get(drawn.get(ref, ""))
