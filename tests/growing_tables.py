"""Which tables grow with accounts, teams and entries, and the statements that read one of them from end to end."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from scorer.db.tables import Table
from tests.sql_statements import whole_reads

STAYING_SMALL = frozenset(
    {
        *("competitions", "publications", "competition_roles", "announcements", "tracks", "thresholds"),
        *("reference_sets", "competition_references", "preparations", "data_files", "releases", "release_acts"),
        *("rating_studies", "pauses", "last_sweep", "rescoring_campaigns", "rescoring_acts", "comparisons"),
        *("shown_tracks", "signing_keys", "webhooks", "worker_reports"),
        "rulings",  # organizers rule on what they have looked at
        "team_merges",  # two teams of a competition at a time agree on it, until its day of merging
    }
)
"""Tables whose rows people make one by one."""
NAMES_IN_THE_LOG = "SELECT DISTINCT audit_entries.action"
"""The acts that admins and organizers can choose from when they look at the audit log, which is read for them."""
GROWING = frozenset(Table.metadata.tables) - STAYING_SMALL


def read_whole(connection: Connection, statements: Mapping[str, Any]) -> dict[str, set[str]]:
    """The growing tables that each of these statements could only read from end to end; none of the others."""
    reads = {text: whole_reads(connection, text, parameters) & GROWING for text, parameters in statements.items()}
    return {text: tables for text, tables in reads.items() if tables and not text.startswith(NAMES_IN_THE_LOG)}
