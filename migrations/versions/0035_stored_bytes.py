"""Indices that the bytes of a competition's zips are summed from, without reading its entries."""

import sqlalchemy as sa
from alembic import op

from migrations.concurrent_indexes import create_index

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _create("ix_submissions_stored", ["team_id", "bytes"], "blob_key IS NOT NULL")
    _create("ix_submissions_removed", ["bytes", "zip_removed_at"], "zip_removed_at IS NOT NULL")


def _create(name: str, included: list[str], condition: str) -> None:
    create_index(
        name,
        "submissions",
        ["competition_id"],
        postgresql_include=included,
        postgresql_where=sa.text(condition),
    )


def downgrade() -> None:
    """Take back."""
    for name in ("ix_submissions_removed", "ix_submissions_stored"):
        op.drop_index(name, table_name="submissions")
