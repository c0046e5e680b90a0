"""An example of every JSON body that a request may have, by the name of its schema."""

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
    "NewNetwork": {"extractor": "nasnetalarge", "reason": "It separates best."},
    "NewShownTrackBody": {"name": "fd_dinov2", "metric": "fid", "extractor": "dinov2", "visibility": "everybody"},
    "NewThreshold": {"method": "margin", "reason": REASON},
    "NewUndo": {"reason": "It penalised an honest entry."},
}


def add_examples(schemas: Mapping[str, dict[str, Any]]) -> None:
    """Add each body's example to its schema."""
    for name, example in BODIES.items():
        schemas[name]["examples"] = [example]
