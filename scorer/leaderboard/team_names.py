"""The names of a competition's teams, normalised, for searching in them: a hundred thousand in milliseconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scorer.ranking.columns import Ints, is_among


@dataclass(frozen=True)
class TeamNames:
    """Teams in the order of their ids, with their names."""

    ids: Ints
    names: Sequence[str]

    @classmethod
    def of(cls, names: Mapping[int, str]) -> "TeamNames":
        """Names by id."""
        ids = sorted(names)
        return cls(np.array(ids, np.int64), [names[id_] for id_ in ids])

    def unknown(self, ids: Ints) -> Ints:
        """Those of the ids that have no name here."""
        return ids[~is_among(ids, self.ids)]

    def with_names(self, names: Mapping[int, str]) -> "TeamNames":
        """These names and others."""
        return TeamNames.of(dict(zip(self.ids.tolist(), self.names, strict=True)) | dict(names))

    def containing(self, text: str, *, among: Ints) -> Ints:
        """The ids of those of the teams ``among`` (sorted) whose name contains ``text``, sorted."""
        found = self.ids[np.fromiter((text in name for name in self.names), np.bool_, len(self.names))]
        return found[is_among(found, among)]
