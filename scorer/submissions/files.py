"""The stored files of a submission: its zip and its sprite sheet."""

from dataclasses import dataclass

from scorer.db.tables import Submission
from scorer.errors import Conflict, NotFound


def sprite_key(submission: Submission) -> str:
    """The blob key of a submission's sprite sheet; ``NotFound`` if there is none (yet)."""
    if submission.sprite_key is None:
        raise NotFound("no-sprite", "There is no picture of this entry's images.")
    return submission.sprite_key


class ZipRemoved(Conflict):
    """The zip of a finished competition's entry has left the store; measuring it again will never succeed."""


@dataclass(frozen=True)
class StoredZip:
    """The blob key of a submission's zip, and the SHA-256 (hex) of its bytes."""

    key: str
    sha256: str


def stored_zip(submission: Submission) -> StoredZip:
    """The stored zip of a submission; ``Conflict`` (``imported``) for an imported one, which has measurements only,
    ``ZipRemoved`` (``zip-removed``) for one whose zip has left."""
    if submission.zip_removed_at is not None:
        raise ZipRemoved(
            "zip-removed",
            f"The zip of {submission.id} was removed on {submission.zip_removed_at:%Y-%m-%d}, when it was no longer "
            "needed: what was measured stays, but its images can be neither shown nor measured again.",
        )
    if submission.blob_key is None or submission.sha256 is None:
        raise Conflict(
            "imported", f"{submission.id} was imported from a table of results: there is no zip to measure again."
        )
    return StoredZip(submission.blob_key, submission.sha256)
