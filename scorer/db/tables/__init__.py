"""The tables as SQLAlchemy classes, in one module per package. Import them from here.

In most tables, rows are only added: the newest row counts, and the older ones are the history.
"""

from scorer.db.tables.accounts import Account, Identity, KnownDevice, OneTimeLink, SecondFactor, Token, WebSession
from scorer.db.tables.audit_log import AuditEntry
from scorer.db.tables.base import Table
from scorer.db.tables.competitions import (
    AllowlistEntry,
    Announcement,
    Competition,
    CompetitionReference,
    CompetitionRole,
    DataFile,
    DrawSecret,
    Preparation,
    Publication,
    ReferenceSet,
    RulesAcceptance,
    Track,
)
from scorer.db.tables.data_release import Release, ReleaseAct
from scorer.db.tables.evidence import (
    CodeAttachment,
    CodeRequest,
    Evidence,
    GeneratorFile,
    HashedEntry,
    ImageComparison,
    Recovery,
    SharedImages,
)
from scorer.db.tables.human_ratings import Rater, Rating, RatingItem, RatingStudy
from scorer.db.tables.jobs import Job, LastSweep, Pause, WorkerReport
from scorer.db.tables.measurements import BoardChange, Measurement
from scorer.db.tables.notifications import Delivery, Mail, MailChoice, Notice, Webhook
from scorer.db.tables.rescoring import RescoringAct, RescoringCampaign
from scorer.db.tables.review import EarlyLabel, Label, Rebuttal, RebuttalAnswer, Review, ReviewClaim, Ruling
from scorer.db.tables.submissions import CheckedGenerator, Draw, SigningKey, Submission, SubmissionEvent, Upload
from scorer.db.tables.teams import Membership, PickSet, Team, TeamInvitation, TeamMerge, TeamMessage, TeamRenaming
from scorer.db.tables.tuning import ComparedDistance, Comparison, ShownMeasurement, ShownTrack, Threshold

__all__ = [
    "Account",
    "AllowlistEntry",
    "Announcement",
    "AuditEntry",
    "BoardChange",
    "CheckedGenerator",
    "CodeAttachment",
    "CodeRequest",
    "ComparedDistance",
    "Comparison",
    "Competition",
    "CompetitionReference",
    "CompetitionRole",
    "DataFile",
    "Delivery",
    "Draw",
    "DrawSecret",
    "EarlyLabel",
    "Evidence",
    "GeneratorFile",
    "HashedEntry",
    "Identity",
    "ImageComparison",
    "Job",
    "KnownDevice",
    "Label",
    "LastSweep",
    "Mail",
    "MailChoice",
    "Measurement",
    "Membership",
    "Notice",
    "OneTimeLink",
    "Pause",
    "PickSet",
    "Preparation",
    "Publication",
    "Rater",
    "Rating",
    "RatingItem",
    "RatingStudy",
    "Rebuttal",
    "RebuttalAnswer",
    "Recovery",
    "ReferenceSet",
    "Release",
    "ReleaseAct",
    "RescoringAct",
    "RescoringCampaign",
    "Review",
    "ReviewClaim",
    "RulesAcceptance",
    "Ruling",
    "SecondFactor",
    "SharedImages",
    "ShownMeasurement",
    "ShownTrack",
    "SigningKey",
    "Submission",
    "SubmissionEvent",
    "Table",
    "Team",
    "TeamInvitation",
    "TeamMerge",
    "TeamMessage",
    "TeamRenaming",
    "Threshold",
    "Token",
    "Track",
    "Upload",
    "WebSession",
    "Webhook",
    "WorkerReport",
]
