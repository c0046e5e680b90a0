"""What images an entry's evidence names: pairs of them, in groups that are shown together. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NEAR = ("near-copies", "thumbnail-copies", "partly-copied")
SHOWN = 8
"""Pairs of a group: as many as fit on a screen."""


@dataclass(frozen=True)
class Match:
    """An image of the entry and what it is near to: a reference image (``set_`` is the beginning of its set's SHA-256),
    or another image of the entry (None)."""

    image: str
    other: str
    distance: float
    set_: str | None = None
    mirrored: bool = False
    """Whether it is near to the other one's mirror image."""


def groups_of(details: Mapping[str, Any], hidden: Collection[str] = ()) -> dict[str, Sequence[Match]]:
    """The groups that there are images of, by the names that addresses give them: those of :data:`NEAR`, ``cell-1``
    (the first cell), ``repeats``, ``identical`` (two images of each of its groups), ``mirrored-twins``. Without the
    reference images of sets whose SHA-256 begins as one of ``hidden``."""
    found = {name: _near(details.get(name.replace("-", "_"), ())) for name in NEAR}
    for cell in details.get("cells", ()):
        found[f"cell-{cell['cell'] + 1}"] = _near(cell["examples"])
    found["repeats"] = [Match(one, other, distance) for one, other, distance in details.get("repeats", ())]
    found["identical"] = [Match(names[0], names[1], 0.0) for names in details.get("identical", ())]
    turned = {frozenset(pair): pair for pair in details.get("mirrored_twins", ())}  # each is the other's
    found["mirrored-twins"] = [Match(one, other, 0.0, mirrored=True) for one, other in turned.values()]
    seen = {name: [each for each in group if each.set_ not in hidden][:SHOWN] for name, group in found.items()}
    return {name: group for name, group in seen.items() if group}


def _near(examples: Sequence[Mapping[str, Any]]) -> list[Match]:
    named = [(each, *each["reference"].partition("/")) for each in examples]
    return [
        Match(each["generated"], name, each["distance"], set_, each.get("mirrored", False))
        for each, set_, _, name in named
    ]
