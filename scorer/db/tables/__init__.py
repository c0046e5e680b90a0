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
from scorer.db.tables.entries import Job, Label, Measurement, Submission
from scorer.db.tables.people import Account, Identity, OneTimeLink, Token, WebSession
from scorer.db.tables.records import AuditEntry, Mail
from scorer.db.tables.teams import Membership, Team, TeamInvitation, TeamMerge, TeamRenaming

__all__ = [
    "Account",
    "AuditEntry",
    "Competition",
    "CompetitionReference",
    "Identity",
    "Job",
    "Label",
    "Mail",
    "Measurement",
    "Membership",
    "OneTimeLink",
    "Preparation",
    "Publication",
    "ReferenceSet",
    "RulesAcceptance",
    "Submission",
    "Table",
    "Team",
    "TeamInvitation",
    "TeamMerge",
    "TeamRenaming",
    "Threshold",
    "Token",
    "Track",
    "WebSession",
]
