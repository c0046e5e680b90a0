"""The stored files of a submission: its zip and its sprite sheet."""

from scorer.db.tables import Submission
from scorer.errors import NotFound


def sprite_key(submission: Submission) -> str:
    """The blob with small versions of some of a submission's images; ``NotFound`` if there is none (yet)."""
    if submission.sprite_key is None:
        raise NotFound("no-sprite", "There is no picture of this entry's images.")
    return submission.sprite_key
