"""The view ``scores`` with a penalty that is at least 1, also where the memorization distance is above 1."""

from alembic import op

from migrations.views import scores

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(scores("penalty_of_at_least_one"))


def downgrade() -> None:
    """Take back."""
    op.execute(scores("rescored"))
