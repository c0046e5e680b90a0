"""The stored files of a submission: its zip and its sprite sheet."""

from dataclasses import dataclass

from scorer.db.tables import Submission
from scorer.errors import Conflict, NotFound


def sprite_key(submission: Submission) -> str:
    """Return the blob key of a submission's sprite sheet; ``NotFound`` if there is none yet."""
    if submission.sprite_key is None:
        raise NotFound("no-sprite", "This entry has no preview of its images.")
    return submission.sprite_key


class ZipRemoved(Conflict):
    """The zip of a finished competition's entry was removed; no retry can measure it."""


@dataclass(frozen=True)
class StoredZip:
    """The blob key of a submission's zip, and the SHA-256 (hex) of its bytes."""

    key: str
    sha256: str


def stored_zip(submission: Submission) -> StoredZip:
    """Return the stored zip of a submission.

    ``Conflict`` (``imported``) for an imported submission, which has no zip; ``ZipRemoved`` (``zip-removed``) if the
    zip was removed.
    """
    if submission.zip_removed_at is not None:
        raise ZipRemoved(
            "zip-removed",
            f"The zip of {submission.id} was removed on {submission.zip_removed_at:%Y-%m-%d}, after the competition. "
            "Its measurements remain, but its images can't be shown or measured again.",
        )
    if submission.blob_key is None or submission.sha256 is None:
        raise Conflict(
            "imported", f"{submission.id} was imported from a table of results and has no zip to measure again."
        )
    return StoredZip(submission.blob_key, submission.sha256)
