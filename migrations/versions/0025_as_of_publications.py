"""The moment as of which a published board is read."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. A board that is published is read as it is now, and one that was withdrawn as it was just before."""
    as_of = sa.Column("as_of", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False)
    op.add_column("publications", as_of)
    op.execute(
        "UPDATE publications AS act SET as_of = later.until - interval '1 microsecond' FROM ("
        " SELECT id, lead(created_at) OVER (PARTITION BY competition_id ORDER BY id) AS until FROM publications"
        ") AS later WHERE later.id = act.id AND later.until <= now()"
    )


def downgrade() -> None:
    """Take back."""
    op.drop_column("publications", "as_of")
