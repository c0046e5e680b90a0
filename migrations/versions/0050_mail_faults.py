"""An index by which the reasons of mails that have not left are found without reading a whole table."""

import sqlalchemy as sa
from alembic import op

from migrations.concurrent_indexes import create_index

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    create_index("ix_mails_faults", "mails", ["due_at"], postgresql_where=sa.text("error IS NOT NULL"))


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_mails_faults", table_name="mails")
