"""Starts data releases."""

import secrets

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Release
from scorer.identifiers import new_public_id
from scorer.import_export import data_release
from scorer.import_export.data_release import ReleaseImages


def start_data_release(acting: Acting, state: CompetitionState, images: ReleaseImages, *, new_names: bool) -> Release:
    """Start a data release under a new identifier, with a new key for its pseudonyms."""
    return data_release.start_release(
        acting,
        state,
        images,
        new_names=new_names,
        public_id=new_public_id(),
        key=secrets.token_bytes(data_release.KEY_BYTES),
    )
