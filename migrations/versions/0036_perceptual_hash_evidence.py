"""What perceptual hashes say of copies, beside the other evidence."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

SHARES = ("hash_share", "hash_expected", "hash_p")


def upgrade() -> None:
    """Apply."""
    for name in SHARES:
        op.add_column("evidence", sa.Column(name, sa.Float(), nullable=True))
    op.add_column("evidence", sa.Column("hash_mirrored", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Take back."""
    for name in (*SHARES, "hash_mirrored"):
        op.drop_column("evidence", name)
