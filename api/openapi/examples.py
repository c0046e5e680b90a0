"""An example of every JSON body that a request may have, by the name of its schema; and what parameters mean that
many operations share, with an example. An operation's own description goes before it.
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
    "PauseWish": {"queue": "score", "reason": "The GPU is exchanged."},
    "ReadMark": {"up_to": 17},
    "MailChoices": {"mailed": {"ruling": True}},
    "NewWebhook": {"url": "https://hooks.example.org/kennel"},
    "NewCampaignBody": {"track": "public", "reason": "A corrected scorer."},
    "CampaignDecision": {"decision": "switch", "reason": "The preview is as expected."},
    "NewPublication": {"published": True, "final": True, "reason": "All is reviewed."},
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
    """Add each body's example to its schema."""
    for name, example in BODIES.items():
        schemas[name]["examples"] = [example]


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
    ("path", "other_ref"): ("The other entry, by its `ref`.", 2),
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
