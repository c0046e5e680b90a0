"""The tables."""

from scorer.db.tables.base import Table
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
from scorer.db.tables.entries import Job, Label, Measurement, Membership, Submission, Team
from scorer.db.tables.people import Account, Identity, OneTimeLink, Token, WebSession
from scorer.db.tables.records import AuditEntry, Mail
from scorer.db.tables.results import CodeAttachment, PickSet

__all__ = [
    "Account",
    "AuditEntry",
    "CodeAttachment",
    "Competition",
    "CompetitionReference",
    "Identity",
    "Job",
    "Label",
    "Mail",
    "Measurement",
    "Membership",
    "OneTimeLink",
    "PickSet",
    "Preparation",
    "Publication",
    "ReferenceSet",
    "RulesAcceptance",
    "Submission",
    "Table",
    "Team",
    "Threshold",
    "Token",
    "Track",
    "WebSession",
]
