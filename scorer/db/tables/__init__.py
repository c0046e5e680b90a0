"""The tables."""

from scorer.db.tables.base import Table
from scorer.db.tables.competition import (
    Competition,
    CompetitionReference,
    Preparation,
    Publication,
    ReferenceSet,
    Threshold,
    Track,
)
from scorer.db.tables.entries import (
    Job,
    Label,
    Measurement,
    Membership,
    ProvisionalMeasurement,
    Submission,
    Team,
)
from scorer.db.tables.people import Account, Token

__all__ = [
    "Account",
    "Competition",
    "CompetitionReference",
    "Job",
    "Label",
    "Measurement",
    "Membership",
    "Preparation",
    "ProvisionalMeasurement",
    "Publication",
    "ReferenceSet",
    "Submission",
    "Table",
    "Team",
    "Threshold",
    "Token",
    "Track",
]
