"""Which team's images came first, where entries of different teams share images or are equal."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from scorer.db.evidence.shared_images import SharingEntry, sharing_entries
from scorer.db.submissions.duplicates import Duplicate
from scorer.findings.duplicates import recovered_images_sentence, same_generator_sentence, shared_images_sentence
from scorer.findings.formatting import before_or_after


def sharing_sentence(pair: SharingEntry) -> str:
    """Say what two entries have in common: images, a nearly equal generator, or both."""
    sentences = []
    if pair.images:
        sentences.append(shared_images_sentence(pair.images, pair.equal, pair.share))
    if pair.same_latents is not None:
        sentences.append(same_generator_sentence(pair.same_latents))
    if pair.recovered is not None:
        sentences.append(recovered_images_sentence(pair.recovered))
    return " ".join(sentences)


def came_first(session: Session, pairs: Sequence[SharingEntry]) -> dict[tuple[int, int], str]:
    """A sentence by ``(of, ref)`` of each pair: which entry of the two teams came first, and by how long.

    ``pairs`` must be all pairs that :func:`sharing_entries` has for some entries. An entry may repeat images of an
    earlier entry of its team. So each team's earliest entry that shares images with the other entry of the pair counts.
    """
    first: dict[tuple[int, int], SharingEntry] = {}
    for row in (*pairs, *sharing_entries(session, {pair.ref for pair in pairs})):
        with_team = (row.of, row.team_id)
        first[with_team] = min(first.get(with_team, row), row, key=lambda entry: (entry.accepted_at, entry.ref))
    return {
        (pair.of, pair.ref): _order(first[pair.ref, pair.of_team_id], first[pair.of, pair.team_id]) for pair in pairs
    }


def _order(one: SharingEntry, other: SharingEntry) -> str:
    earlier, later = sorted((one, other), key=lambda entry: (entry.accepted_at, entry.ref))
    order = before_or_after((later.accepted_at - earlier.accepted_at).total_seconds())
    return (
        f"Entry {earlier.ref} of {earlier.team} came first: it was accepted {order} entry {later.ref} of {later.team}."
    )


def same_images_sentence(double: Duplicate) -> str:
    """The sentence that names an entry with the same zip or images, and says which was accepted first."""
    what = "zip" if double.same_zip else "images"
    order = before_or_after((double.accepted_at - double.of_accepted_at).total_seconds())
    return f"It has the same {what} as entry {double.ref} of {double.team}, and was accepted {order} it."
