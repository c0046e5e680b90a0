"""Rows for every table, for migrations to work on."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, MetaData, Table, insert
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import Boolean, DateTime, Double, Integer, LargeBinary, Text, TypeEngine

from migrations import FIRST
from scorer.identifiers import hash_secret

PAST, FUTURE = "2020-03-14T12:00:00+00:00", "2999-03-14T12:00:00+00:00"
SLUG, TOKEN = "dogs", "secret-of-kay"
SCORED = {"status": "scored", "copied_share": 0.0, "blob_key": "x"}
Row = tuple[str, Mapping[str, Any]]

ROWS: Mapping[str, Sequence[Row]] = {
    FIRST: (
        ("accounts", {"handle": "olga", "role": "organizer"}),
        ("accounts", {"handle": "kay", "role": "participant"}),
        ("competitions", {"slug": SLUG, "image_count": 8, "opens_at": PAST, "closes_at": FUTURE, "prizes": []}),
        ("reference_sets", {}),
        ("tokens", {"account_id": 2, "digest": hash_secret(TOKEN), "scopes": ["read"]}),
        ("competition_references", {"role": "train"}),
        ("preparations", {"reference_set_ids": [1], "finished_at": PAST}),
        ("publications", {"published": False}),
        ("teams", {"name": "Kay"}),
        ("teams", {"name": "Lee"}),
        ("memberships", {"account_id": 2, "joined": True}),
        ("submissions", SCORED | {"id": "first", "account_id": 2, "sha256": "first"}),
        ("tracks", {"kind": "public", "extractor": "tiny@1", "preparation_id": 1}),
        ("tracks", {"kind": "private", "extractor": "tiny@1", "preparation_id": 1}),
        ("jobs", {"queue": "score", "state": "done", "submission_ref": 1, "track_id": 1, "team_id": 1}),
        ("labels", {"label": "legitimate"}),
        ("thresholds", {"tau": 0.2, "method": "manual", "author_id": 1}),
        ("measurements", {"fid": 30.0, "memorization_distance": 0.5}),
        ("mails", {"state": "sent"}),
        ("audit_entries", {}),
        ("identities", {}),
        ("one_time_links", {"purpose": "reset"}),
        ("web_sessions", {}),
        ("rules_acceptances", {}),
        ("uploads", {"method": "tus", "state": "receiving", "length": 10}),
        ("submission_events", {"status": "scored"}),
        ("notices", {}),
        ("mail_choices", {}),
        ("webhooks", {}),
        ("deliveries", {"state": "sent"}),
        ("team_renamings", {}),
        ("team_merges", {"team_id": 2, "into_team_id": 1}),
        ("team_invitations", {"account_id": 2, "state": "open"}),
        ("pick_sets", {"submission_refs": [1]}),
        ("code_attachments", {"kind": "zip"}),
        ("early_labels", {"label": "mgan", "source": "hand"}),
        ("reviews", {"label": "mgan"}),
        ("rulings", {"kind": "keep"}),
        ("rebuttals", {}),
        ("rebuttal_answers", {}),
        ("data_files", {}),
        ("board_changes", {"kind": "entries"}),
        ("comparisons", {"preparation_ids": [1]}),
        ("compared_distances", {}),
        ("rating_studies", {"side": 2}),
        ("releases", {"id": "release", "images": "none"}),
        ("release_acts", {"release_id": "release"}),
        ("raters", {"account_id": 2}),
        ("rating_items", {"kind": "realism"}),
        ("ratings", {}),
        ("submissions", SCORED | {"id": "second", "sha256": "second"}),
        ("allowlist_entries", {"account_id": 2}),
        ("evidence", {"z_u_p": 0.003}),
        ("generators", {"distribution": "normal"}),
        ("recoveries", {"report": {}, "arrays_key": "x"}),
        ("pauses", {"queue": "score", "paused": False}),
        ("last_sweep", {}),
        ("known_devices", {}),
        ("second_factors", {"kind": "totp"}),
        ("rescoring_campaigns", {}),
        ("rescoring_acts", {"kind": "switch"}),
        ("jobs", {"queue": "rescore", "state": "done", "submission_ref": 1, "track_id": 1, "campaign_id": 1}),
        ("competition_roles", {"account_id": 2, "role": "reviewer"}),
        ("review_claims", {}),
        ("announcements", {}),
        ("team_messages", {}),
        ("code_requests", {}),
        ("hashed_entries", {"blob_key": "image-hashes/first.npy"}),
        ("image_comparisons", {}),
        ("shared_images", {"submission_ref": 2, "images": 3, "share": 0.5}),
        ("signing_keys", {}),
        ("shown_tracks", {"reference": "public", "visibility": "organizers"}),
        ("jobs", {"queue": "rescore", "state": "done", "submission_ref": 1, "priority": 2, "shown_track_id": 1}),
        ("shown_measurements", {"job_id": 1}),
        ("worker_reports", {}),
    ),
    "0101": (
        ("draw_secrets", {"purpose": "public"}),
        ("checked_generators", {}),
        ("draws", {"track_kind": "public", "blob_key": "draws/first/public-1.zip"}),
        ("jobs", {"queue": "draw", "state": "done", "submission_ref": 1, "track_id": 1, "team_id": 1}),
    ),
}
"""By migration: rows for the tables that it creates or extends. Required columns that are not named get a value of
their type; references point to the first row."""


def add_rows(connection: Connection, revision: str) -> None:
    """Insert the rows of a migration after it has run."""
    rows = ROWS.get(revision, ())
    tables = MetaData()
    tables.reflect(connection, only=[name for name, _ in rows], resolve_fks=False)
    for name, given in rows:
        table = tables.tables[name]
        connection.execute(insert(table).values(_needed(table) | dict(given)))


def _needed(table: Table) -> dict[str, Any]:
    """Values for the columns that require one and have no default."""
    return {
        column.name: _example_value(column.type)
        for column in table.columns
        if not column.nullable and column.server_default is None and column.identity is None
    }


def _example_value(kind: TypeEngine[Any]) -> Any:
    values: Sequence[tuple[type[Any], Any]] = (
        (JSONB, {}),
        (ARRAY, []),
        (Boolean, False),
        (DateTime, PAST),
        (Integer, 1),
        (Double, 0.5),
        (LargeBinary, b"x"),
        (Text, "x"),
    )
    return next(value for type_, value in values if isinstance(kind, type_))
