"""The tables."""

from scorer.db.tables.accounts import Account, Identity, OneTimeLink, Token, WebSession
from scorer.db.tables.audit_log import AuditEntry
from scorer.db.tables.base import Table
from scorer.db.tables.competitions import (
    Competition,
    CompetitionReference,
    DataFile,
    Guest,
    Preparation,
    Publication,
    ReferenceSet,
    RulesAcceptance,
    Track,
)
from scorer.db.tables.data_release import Release, ReleaseAct
from scorer.db.tables.evidence import CodeAttachment, Evidence, GeneratorFile, Recovery
from scorer.db.tables.human_ratings import Rater, Rating, RatingItem, RatingStudy
from scorer.db.tables.jobs import Job
from scorer.db.tables.leaderboard import BoardChange
from scorer.db.tables.measurements import Measurement, ProvisionalMeasurement
from scorer.db.tables.notifications import Delivery, Mail, MailChoice, Notice, Webhook
from scorer.db.tables.review import CoarseLabel, Label, Rebuttal, RebuttalAnswer, Review, Ruling
from scorer.db.tables.submissions import Submission, SubmissionEvent, Upload
from scorer.db.tables.teams import Membership, PickSet, Team, TeamInvitation, TeamMerge, TeamRenaming
from scorer.db.tables.tuning import ComparedDistance, Comparison, Threshold

__all__ = [
    "Account",
    "AuditEntry",
    "BoardChange",
    "CoarseLabel",
    "CodeAttachment",
    "ComparedDistance",
    "Comparison",
    "Competition",
    "CompetitionReference",
    "DataFile",
    "Delivery",
    "Evidence",
    "GeneratorFile",
    "Guest",
    "Identity",
    "Job",
    "Label",
    "Mail",
    "MailChoice",
    "Measurement",
    "Membership",
    "Notice",
    "OneTimeLink",
    "PickSet",
    "Preparation",
    "ProvisionalMeasurement",
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
    "Review",
    "RulesAcceptance",
    "Ruling",
    "Submission",
    "SubmissionEvent",
    "Table",
    "Team",
    "TeamInvitation",
    "TeamMerge",
    "TeamRenaming",
    "Threshold",
    "Token",
    "Track",
    "Upload",
    "WebSession",
    "Webhook",
]
