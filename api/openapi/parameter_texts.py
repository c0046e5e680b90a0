"""What parameters mean that many operations share, with an example. An operation's own description goes before it."""

from collections.abc import Mapping
from typing import Any, Final

TEXTS: Final[Mapping[tuple[str, str], tuple[str, object]]] = {
    ("path", "slug"): ("The competition, by the name in its address.", "dogs"),
    ("path", "submission_id"): ("The submission, by its id.", "5f0c7a52-2f5e-4a39-9c3e-6f1f4a1f3c55"),
    ("path", "upload_id"): ("The upload, by its id.", "3b1e0c9e-8f3a-4a53-8a55-3c6ff13d2a0e"),
    ("path", "handle"): ("The account, by its handle.", "ada"),
    ("path", "study_id"): ("The study in which people rate images, by its number.", 1),
    ("path", "item_id"): ("The image to rate, by its number.", 1),
    ("path", "release_id"): ("The data release, by its number.", 1),
    ("path", "webhook_id"): ("The webhook, by its number.", 1),
    ("path", "team_id"): ("The team, by its number.", 1),
    ("path", "shown_track"): ("The shown track, by its name.", "fd_dinov2"),
    ("path", "campaign_id"): ("The rescoring campaign, by its number.", 1),
    ("path", "invitation_id"): ("The invitation, by its number.", 1),
    ("path", "session_id"): ("The session, by its number.", 1),
    ("path", "factor_id"): ("The second factor, by its number.", 1),
    ("path", "token_id"): ("The API token, by its number.", 1),
    ("path", "notice_id"): ("The notice, by its number.", 1),
    ("path", "threshold_id"): ("The threshold that was set, by its number.", 1),
    ("path", "rebuttal_id"): ("The rebuttal, by its number.", 1),
    ("path", "role"): ("What the reference set is for.", "train"),
    ("path", "who"): ("The invited person: a handle or an email address.", "ada"),
    ("path", "name"): ("The name of the file or list.", "train.zip"),
    ("path", "kind"): ("Which of the kinds that there are.", "public"),
    ("path", "group"): ("Which of the groups that there are.", "train"),
    ("path", "number"): ("The number of the pair, from 0.", 0),
    ("path", "other_ref"): ("The other entry, by its `ref`.", 2),
    ("path", "side"): ("Which image of the pair.", "generated"),
    ("path", "figure"): ("The figure, by its name.", "fid-mifid"),
    ("query", "limit"): ("How many at most.", 20),
    ("query", "after"): ("Only what follows this: `next_after` of the page before.", 100),
    ("query", "track"): ("The track.", "public"),
    ("query", "format"): ("The form of the answer.", "json"),
    ("query", "kind"): ("Which of the kinds that there are.", "quality"),
    ("query", "action"): ("Only acts of this name.", "ruling"),
    ("query", "subject"): ("Only acts on this subject.", "submission"),
    ("query", "file_name"): ("The file's name, as people see it.", "submission.zip"),
    ("query", "method"): ("How the threshold is chosen.", "margin"),
    ("query", "note"): ("What the team wants to remember about the entry.", "third network, 200 epochs"),
    ("query", "final"): ("Whether the final board shall be published; otherwise the provisional one.", True),
    ("query", "alpha"): ("The share of legitimate entries that may be penalised.", 0.05),
    ("query", "epsilon"): ("The epsilon of MiFID's penalty.", 1e-15),
    ("header", "idempotency-key"): ("A word of your choice: the same one gives the same result, once.", "try-17"),
    ("header", "accept"): ("The form of the answer: `application/json` or `text/csv`.", "application/json"),
    ("header", "upload-offset"): ("Where the bytes belong (tus).", 0),
    ("header", "upload-checksum"): (
        "The digest of this piece (tus): algorithm and base64.",
        "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=",
    ),
    ("header", "upload-length"): ("How many bytes will come (tus).", 12_345_678),
    ("header", "upload-metadata"): (
        "Pairs of a key and base64 (tus): filename, note, benchmark.",
        "filename c3VibWlzc2lvbi56aXA=",
    ),
    ("header", "last-event-id"): ("The id of the last event that arrived; only what followed it is sent.", "17"),
}


def describe_parameter(parameter: dict[str, Any]) -> None:
    """Add what is said about every parameter of this name, where the operation says nothing itself."""
    text, example = TEXTS.get((parameter["in"], parameter["name"]), (None, None))
    if text is not None and "description" not in parameter:
        parameter["description"] = text
    if example is not None and not {"example", "examples"} & parameter.keys() and "default" not in parameter["schema"]:
        parameter["example"] = example
