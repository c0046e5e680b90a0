"""The tables."""

from scorer.db.tables.base import Table
from scorer.db.tables.changes import BoardChange
from scorer.db.tables.comparisons import ComparedDistance, Comparison
from scorer.db.tables.competition import (
    Competition,
    CompetitionReference,
    Preparation,
    Publication,
    ReferenceSet,
    RulesAcceptance,
    Threshold,
    Track,
)
from scorer.db.tables.data_files import DataFile
from scorer.db.tables.entries import (
    Job,
    Label,
    Measurement,
    ProvisionalMeasurement,
    Submission,
)
from scorer.db.tables.events import SubmissionEvent
from scorer.db.tables.evidence import Evidence
from scorer.db.tables.generators import GeneratorFile, Recovery
from scorer.db.tables.guests import Guest
from scorer.db.tables.judging import CoarseLabel, Rebuttal, RebuttalAnswer, Review, Ruling
from scorer.db.tables.notices import Delivery, MailChoice, Notice, Webhook
from scorer.db.tables.people import Account, Identity, OneTimeLink, Token, WebSession
from scorer.db.tables.ratings import Rater, Rating, RatingItem, RatingStudy
from scorer.db.tables.records import AuditEntry, Mail
from scorer.db.tables.releases import Release, ReleaseAct
from scorer.db.tables.results import CodeAttachment, PickSet
from scorer.db.tables.teams import Membership, Team, TeamInvitation, TeamMerge, TeamRenaming
from scorer.db.tables.uploads import Upload

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
