"""Second factors: keys of one-time codes, passkeys, recovery codes; sessions that wait for one."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "second_factors",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("credential_id", sa.LargeBinary(), nullable=True),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("counter", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('totp', 'passkey', 'recovery_code')", name=op.f("ck_second_factors_kind")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_second_factors_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_second_factors")),
    )
    op.create_index(op.f("ix_second_factors_account_id"), "second_factors", ["account_id"], unique=False)
    op.add_column(
        "web_sessions",
        sa.Column("awaits_second_factor", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("web_sessions", sa.Column("challenge", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Take back."""
    op.drop_column("web_sessions", "challenge")
    op.drop_column("web_sessions", "awaits_second_factor")
    op.drop_index(op.f("ix_second_factors_account_id"), table_name="second_factors")
    op.drop_table("second_factors")
