"""Indices by which what belongs to a person, or is about something, is found without reading a whole table."""

import sqlalchemy as sa
from alembic import op

from migrations.concurrent_indexes import create_index

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

COLUMNS = {
    "audit_entries": "subject",
    "code_attachments": "author_id",
    "generators": "author_id",
    "pick_sets": "author_id",
    "rebuttals": "author_id",
    "team_invitations": "invited_by",
    "team_renamings": "account_id",
}


def upgrade() -> None:
    """Apply."""
    for table, column in COLUMNS.items():
        create_index(f"ix_{table}_{column}", table, [column])
    create_index("ix_mails_recipient", "mails", [sa.text("lower(recipient)")])
    create_index("ix_one_time_links_email", "one_time_links", [sa.text("lower(email)")])
    create_index("ix_accounts_admins", "accounts", ["id"], postgresql_where=sa.text("role = 'admin'"))


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_accounts_admins", table_name="accounts")
    op.drop_index("ix_one_time_links_email", table_name="one_time_links")
    op.drop_index("ix_mails_recipient", table_name="mails")
    for table, column in COLUMNS.items():
        op.drop_index(op.f(f"ix_{table}_{column}"), table_name=table)
