"""The stored files of a submission: its zip and its sprite sheet."""

from dataclasses import dataclass

from scorer.db.tables import Submission
from scorer.errors import Conflict, NotFound


def sprite_key(submission: Submission) -> str:
    """The blob with small versions of some of a submission's images; ``NotFound`` if there is none (yet)."""
    if submission.sprite_key is None:
        raise NotFound("no-sprite", "There is no picture of this entry's images.")
    return submission.sprite_key


@dataclass(frozen=True)
class StoredZip:
    """Where the zip of a submission lies, and the SHA-256 of its bytes."""

    key: str
    sha256: str


def stored_zip(submission: Submission) -> StoredZip:
    """The zip of a submission; ``Conflict`` (``imported``) for one of which there are numbers alone."""
    if submission.blob_key is None or submission.sha256 is None:
        raise Conflict(
            "imported", f"{submission.id} was imported from a table of results: there is no zip to measure again."
        )
    return StoredZip(submission.blob_key, submission.sha256)
