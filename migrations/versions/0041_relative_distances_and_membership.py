"""What relative distances and membership inference say of copies, beside the other evidence."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

COLUMNS = (
    "relative_share",
    "relative_expected",
    "relative_p",
    "membership_auc",
    "membership_auc_p",
    "membership_share",
    "membership_p",
)


def upgrade() -> None:
    """Apply."""
    for name in COLUMNS:
        op.add_column("evidence", sa.Column(name, sa.Float(), nullable=True))


def downgrade() -> None:
    """Take back."""
    for name in COLUMNS:
        op.drop_column("evidence", name)
