"""Examples of all JSON request bodies by the name of their schema, and the descriptions and examples of parameters that
many operations share. An operation's own description takes precedence.
"""

from collections.abc import Mapping
from typing import Any, Final

DIGEST: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
PASSWORD: Final = "a long pass phrase"  # noqa: S105 - an example
ENTRY: Final = "k3_wpq8Zr1Ya"
REASON: Final = "Seen by two reviewers."

BODIES: Final[Mapping[str, Any]] = {
    "SignUp": {"handle": "ada", "email": "ada@example.org", "password": PASSWORD},
    "NewAccount": {"handle": "ada", "name": "Ada"},
    "NewRole": {"role": "organizer"},
    "SuspensionWish": {"suspended": True, "reason": "The account was sold."},
    "PasswordReset": {"link": "from-the-mail", "password": PASSWORD},
    "EmailConfirmation": {"link": "from-the-mail"},
    "SignIn": {"login": "ada", "password": PASSWORD},
    "PasswordChange": {"old": PASSWORD, "new": "another long pass phrase"},
    "EmailChange": {"email": "ada@example.org", "password": PASSWORD},
    "AccountDeletion": {"handle": "ada", "password": PASSWORD},
    "EmailRequest": {"email": "ada@example.org"},
    "NewInvitation": {"email": "bob@example.org"},
    "NewToken": {"name": "laptop", "scopes": ["read", "submit"]},
    "Acceptance": {"rules_sha256": DIGEST},
    "NewAnnouncement": {"title": "More time", "text": "The competition closes a week later."},
    "NewMessage": {"text": "Please attach the code of your best entry."},
    "NewTeamRuling": {"kind": "disqualify", "reason": "All of your entries are copies."},
    "NewCodeRequest": {"until": "2026-12-01T12:00:00Z", "text": "For the prize."},
    "NewAllowlistEntries": {"who": ["ada", "bob@example.org"]},
    "OfferedRole": {"role": "reviewer"},
    "CompetitionSpec": {
        "slug": "dogs",
        "title": "Generative dogs",
        "opens_at": "2026-10-01T00:00:00Z",
        "closes_at": "2026-12-01T00:00:00Z",
        "public": {"extractor": "inception_v3"},
        "private": {"extractor": "nasnetalarge"},
    },
    "CompetitionChanges": {"closes_at": "2026-12-08T00:00:00Z"},
    "NewRelease": {"images": "ranked"},
    "HandOut": {"shown": True},
    "NewRater": {"name": "Rita"},
    "NewRatings": {"kind": "realism", "ratings": {"17": 4, "18": 2}, "more": 10},
    "RequeueWish": {"job": 17},
    "PauseWish": {"queue": "score", "reason": "The GPU is being replaced."},
    "ReadMark": {"up_to": 17},
    "MailChoices": {"mailed": {"ruling": True}},
    "NewWebhook": {"url": "https://hooks.example.org/kennel"},
    "NewCampaignBody": {"track": "public", "reason": "A corrected scorer."},
    "CampaignDecision": {"decision": "switch", "reason": "The preview is as expected."},
    "NewPublication": {"published": True, "final": True, "reason": "All entries are reviewed."},
    "NewLabel": {"label": "legitimate", "note": REASON},
    "NewReview": {"label": "aug", "intent": "intended", "note": "Crops of training images."},
    "NewEarlyLabel": {"label": "mgan"},
    "NewRuling": {"kind": "disqualify", "reason": "Its images are training images, cropped."},
    "NewRebuttal": {"text": "The network was trained on these images, and did not store them."},
    "NewAnswer": {"ruling": "keep", "answer": "The code convinced us."},
    "PasswordProof": {"password": PASSWORD},
    "SecondFactorProof": {"code": "123456"},
    "NewPasskey": {"name": "laptop", "credential": "{}"},
    "NewTotp": {"key": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "code": "123456", "password": PASSWORD},
    "StudySpec": {"teams": 50, "images": 100, "grids": 10},
    "UploadNote": {"note": "third network, 200 epochs"},
    "NewPicks": {"submissions": [ENTRY]},
    "TeamName": {"name": "Kennel Club"},
    "NewTeamInvitation": {"handle": "bob"},
    "Answer": {"accept": True},
    "NewComparison": {"extractors": ["nasnetalarge", "inception_v3"]},
    "NewPrivateExtractor": {"extractor": "nasnetalarge", "reason": "It separates best."},
    "NewShownTrackBody": {"name": "fd_dinov2", "metric": "fid", "extractor": "dinov2", "visibility": "everybody"},
    "NewThreshold": {"method": "margin", "reason": REASON},
    "NewUndo": {"reason": "It penalised an honest entry."},
}


def add_examples(schemas: Mapping[str, dict[str, Any]]) -> None:
    for name, example in BODIES.items():
        schemas[name]["examples"] = [example]


TEXTS: Final[Mapping[tuple[str, str], tuple[str, object]]] = {
    ("path", "slug"): ("The slug of the competition.", "dogs"),
    ("path", "submission_id"): ("The ID of the submission.", ENTRY),
    ("path", "upload_id"): ("The ID of the upload.", "b7Qe0XkVd2_s"),
    ("path", "handle"): ("The handle of the account.", "ada"),
    ("path", "study_id"): ("The number of the rating study.", 1),
    ("path", "item_id"): ("The number of the item to rate.", 1),
    ("path", "release_id"): ("The ID of the data release.", "r4_dQ8sVb1Zp"),
    ("path", "webhook_id"): ("The number of the webhook.", 1),
    ("path", "team_id"): ("The number of the team.", 1),
    ("path", "shown_track"): ("The name of the shown track.", "fd_dinov2"),
    ("path", "campaign_id"): ("The number of the rescoring campaign.", 1),
    ("path", "invitation_id"): ("The number of the invitation.", 1),
    ("path", "session_id"): ("The number of the session.", 1),
    ("path", "factor_id"): ("The number of the second factor.", 1),
    ("path", "token_id"): ("The number of the API token.", 1),
    ("path", "notice_id"): ("The number of the notice.", 1),
    ("path", "threshold_id"): ("The number of the threshold.", 1),
    ("path", "rebuttal_id"): ("The number of the rebuttal.", 1),
    ("path", "role"): ("The role of the reference set.", "train"),
    ("path", "who"): ("The handle or email address of the invited person.", "ada"),
    ("path", "name"): ("The name of the file or list.", "train.zip"),
    ("path", "kind"): ("The kind of track.", "public"),
    ("path", "group"): ("The group of images.", "train"),
    ("path", "other_ref"): ("The `ref` of the other submission.", 2),
    ("path", "figure"): ("The name of the figure.", "fid-distance"),
    ("query", "limit"): ("The maximum number of results.", 20),
    ("query", "after"): ("The `next_after` of the previous page.", 100),
    ("query", "track"): ("The track.", "public"),
    ("query", "format"): ("The format of the response.", "json"),
    ("query", "kind"): ("The kind of rating.", "realism"),
    ("query", "action"): ("Only entries with this action.", "threshold.chosen"),
    ("query", "subject"): ("Only entries with this subject.", "competition:dogs"),
    ("query", "file_name"): ("The file name to show.", "submission.zip"),
    ("query", "method"): ("The method that chooses the threshold.", "margin"),
    ("query", "note"): ("A note about the submission for your team.", "third network, 200 epochs"),
    ("query", "final"): ("Whether to check for the final board (`true`) or the provisional board.", True),
    ("query", "alpha"): ("The share of legitimate submissions that may be penalised.", 0.05),
    ("query", "epsilon"): ("The epsilon of MiFID's penalty.", 1e-15),
    ("header", "idempotency-key"): (
        "A key of your choice. Requests with the same key have the same result and take effect only once.",
        "try-17",
    ),
    ("header", "accept"): ("The format of the response: `application/json` or `text/csv`.", "application/json"),
    ("header", "upload-offset"): ("The offset of the bytes in the file (tus).", 0),
    ("header", "upload-checksum"): (
        "The checksum of the bytes (tus): an algorithm, a space and the hash in base64.",
        "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=",
    ),
    ("header", "upload-length"): ("The size of the file in bytes (tus).", 12_345_678),
    ("header", "upload-metadata"): (
        "Keys with values in base64 (tus). The keys are filename, note and benchmark.",
        "filename c3VibWlzc2lvbi56aXA=",
    ),
    ("header", "last-event-id"): ("The ID of the last received event. The stream continues after it.", "17"),
}


def describe_parameter(parameter: dict[str, Any]) -> None:
    """Add the shared description and example of a parameter if the operation has none."""
    text, example = TEXTS.get((parameter["in"], parameter["name"]), (None, None))
    if text is not None and "description" not in parameter:
        parameter["description"] = text
    if example is not None and not {"example", "examples"} & parameter.keys() and "default" not in parameter["schema"]:
        parameter["example"] = example
