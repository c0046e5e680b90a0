"""Example images of evidence: the pairs of images that findings name, in groups, and sheets of them as PNG."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from scorer.archive.pixel_hashes import Images, mirror_images
from scorer.db import competitions
from scorer.db.tables import Evidence, Preparation, ReferenceSet, Submission, Track
from scorer.errors import NotFound
from scorer.evidence.images import StoredImages, build_pairs_png

NEAR_DUPLICATE_GROUPS = ("near-copies", "thumbnail-copies", "hash-copies", "relative-copies", "partly-copied")
"""Groups of images near training images. They mostly contain the same images of the entry."""
GROUP_SIGNS: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "near-copies": ("near-copies", "mirrored-copies"),
        "identical": ("identical-images",),
        "mirrored-twins": ("identical-images",),
    }
)
"""The signs that belong to a group, if their names differ from the group's."""
SET_PREFIX_LENGTH = 8
"""How many characters of a reference set's SHA-256 precede the names of its images."""
GONE = 128
"""The grey level shown for an image that is no longer stored."""
MAX_PAIRS = 8
"""The number of pairs shown per group."""


@dataclass(frozen=True)
class ExamplePair:
    """An image of the entry and an image that it is close to. The latter is a reference image (``set_`` is the
    beginning of its set's SHA-256) or another image of the entry (``set_`` is None)."""

    image: str
    other: str
    distance: float
    set_: str | None = None
    mirrored: bool = False
    """Whether it is close to the mirror image of the other one."""


def example_groups(details: Mapping[str, Any], hidden: Collection[str] = ()) -> dict[str, Sequence[ExamplePair]]:
    """The groups of example pairs, by the names in URLs. Leaves out empty groups.

    The names are those of :data:`NEAR_DUPLICATE_GROUPS`, ``cell-1`` (the first cell) and so on, ``repeats``,
    ``identical`` (two images of each of its groups) and ``mirrored-twins``. ``hidden`` has beginnings of SHA-256: pairs
    with images of these reference sets are left out.
    """
    groups = {name: _reference_pairs(details.get(name.replace("-", "_"), ())) for name in NEAR_DUPLICATE_GROUPS}
    for cell in details.get("cells", ()):
        groups[f"cell-{cell['cell'] + 1}"] = _reference_pairs(cell["examples"])
    groups["repeats"] = [ExamplePair(one, other, distance) for one, other, distance in details.get("repeats", ())]
    groups["identical"] = [ExamplePair(names[0], names[1], 0.0) for names in details.get("identical", ())]
    mirrored = {
        frozenset(pair): pair for pair in details.get("mirrored_twins", ())
    }  # each pair is listed in both orders
    groups["mirrored-twins"] = [ExamplePair(one, other, 0.0, mirrored=True) for one, other in mirrored.values()]
    visible = {name: [pair for pair in group if pair.set_ not in hidden][:MAX_PAIRS] for name, group in groups.items()}
    return {name: group for name, group in visible.items() if group}


def has_sign(group: str, signs: Collection[str]) -> bool:
    return not {*GROUP_SIGNS.get(group, (group,))}.isdisjoint(signs)


def _reference_pairs(examples: Sequence[Mapping[str, Any]]) -> list[ExamplePair]:
    named = [(example, *example["reference"].partition("/")) for example in examples]
    return [
        ExamplePair(example["generated"], name, example["distance"], set_, example.get("mirrored", False))
        for example, set_, _, name in named
    ]


def example_sheet(
    session: Session, images: StoredImages, submission: Submission, *, evidence: Evidence, group: Sequence[ExamplePair]
) -> bytes:
    """A PNG of pairs: the entry's images in the first row, the images they are close to in the second, mirrored if the
    mirror image matches. ``NotFound`` if the entry's zip is gone."""
    size = submission.competition.image_size
    try:
        kind = session.get_one(Track, evidence.track_id).images_of
        names = images.load_entry_image_names(session, submission, kind)
        wanted = {name for pair in group for name in _generated_names(pair)}
        places = {name: place for place, name in enumerate(names) if name in wanted}
        found = images.load_entry_images(session, submission, kind, places=places.values())
        generated = {name: found[place] for name, place in places.items() if place in found}
    except NotFound:  # its message would name the blob's key
        raise NotFound("no-pictures", "The images of this entry are no longer stored.") from None
    sets = _load_reference_sets(session, evidence)
    references = {set_.sha256[:SET_PREFIX_LENGTH]: _select_set_images(images, set_, group, size=size) for set_ in sets}
    return build_pairs_png(
        (generated.get(pair.image, _gone(size)), _below(pair, generated, references, size=size)) for pair in group
    )


def _generated_names(pair: ExamplePair) -> Collection[str]:
    return (pair.image, pair.other) if pair.set_ is None else (pair.image,)


def _load_reference_sets(session: Session, evidence: Evidence) -> Sequence[ReferenceSet]:
    preparation = session.get_one(Preparation, evidence.preparation_id)
    return competitions.reference_sets(session, preparation.reference_set_ids)


def _select_set_images(
    images: StoredImages, set_: ReferenceSet, group: Sequence[ExamplePair], *, size: int
) -> dict[str, Images]:
    """The images of one reference set that a group names, by name; empty if the set is gone."""
    wanted = {pair.other for pair in group if pair.set_ == set_.sha256[:SET_PREFIX_LENGTH]}
    if not wanted:
        return {}
    try:
        places = {name: place for place, name in enumerate(images.load_set_image_names(set_)) if name in wanted}
        found = images.load_reference_images([set_], set(places.values()), size, hidden=())
    except NotFound:
        return {}
    return {name: found[place] for name, place in places.items() if place in found}


def _below(
    pair: ExamplePair, generated: dict[str, Images], references: dict[str, dict[str, Images]], *, size: int
) -> Images:
    images = generated if pair.set_ is None else references.get(pair.set_, {})
    image = images.get(pair.other, _gone(size))
    return mirror_images(image[None])[0] if pair.mirrored else image


def _gone(size: int) -> Images:
    return np.full((size, size, 3), GONE, np.uint8)
