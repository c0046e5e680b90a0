"""Who sees which shown tracks, and what was measured of one entry on those that a person sees.

What would tell of the private track (its references, or its network) is for organizers, and for those who review an
entry, until the final board is published, whatever was chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db.leaderboard import shown_tracks
from scorer.db.leaderboard.shown_tracks import ShownValue
from scorer.db.tables import Account, ShownTrack, Submission, Track
from scorer.errors import NotFound
from scorer.lifecycle import Phase, TrackKind


@dataclass(frozen=True)
class ShownNumber:
    """What was measured of an entry on a shown track."""

    shown: ShownTrack
    measured: ShownValue


def reveals_private(tracks: Mapping[TrackKind, Track], reference: str, extractor: str) -> bool:
    """Whether a number by these terms tells of the private track what the public one does not."""
    own = extractor == tracks["private"].extractor
    return reference == "private" or (own and extractor != tracks["public"].extractor)


def is_hidden(shown: ShownTrack, tracks: Mapping[TrackKind, Track], *, final: bool) -> bool:
    """Whether participants do not see a shown track. ``final``: the final board is public."""
    if final:
        return False
    return shown.visibility == "organizers" or reveals_private(tracks, shown.reference, shown.extractor)


def visible_shown_tracks(session: Session, state: CompetitionState, account: Account | None) -> list[ShownTrack]:
    """The shown tracks that this person may see, oldest first: organizers all, others those that are not hidden."""
    everything = state.phase is Phase.FINAL or is_organizer(account, state.competition.id)
    tracks = shown_tracks.shown_tracks_of(session, state.competition.id)
    return [shown for shown in tracks if everything or not is_hidden(shown, state.tracks, final=False)]


def named(tracks: Sequence[ShownTrack], name: str) -> ShownTrack:
    """That of some shown tracks which has this name; ``NotFound`` if none has."""
    for shown in tracks:
        if shown.name == name:
            return shown
    raise NotFound("no-shown-track", "There is no shown track of this name here.")


def numbers_by_ref(
    session: Session, entries: Sequence[Submission], account: Account | None, *, for_review: bool
) -> dict[int, list[ShownNumber]]:
    """What was measured of entries of one competition, by ref, on the shown tracks that this person may see, oldest
    first; on all of them for organizers and ``for_review``."""
    refs = [entry.ref for entry in entries]
    if not refs:
        return {}
    competition_id = entries[0].competition_id
    existing = shown_tracks.shown_tracks_of(session, competition_id)
    values = shown_tracks.values_of_entries(session, existing, refs)
    if not values:
        return {ref: [] for ref in refs}
    everything = for_review or is_organizer(account, competition_id) or competitions.is_final(session, competition_id)
    tracks = competitions.tracks_of(session, competition_id)
    visible = [shown for shown in existing if everything or not is_hidden(shown, tracks, final=False)]
    return {
        ref: [ShownNumber(shown, of_one[shown.name]) for shown in visible if shown.name in of_one]
        for ref in refs
        for of_one in [values.get(ref, {})]
    }
