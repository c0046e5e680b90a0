"""What people are told: every step of a submission, notices, webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "submission_events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_ref"], ["submissions.ref"], name=op.f("fk_submission_events_submission_ref")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission_events")),
        info={"append_only": True},
    )
    op.create_index("ix_submission_events_submission", "submission_events", ["submission_ref", "id"], unique=False)
    # Of what was handed in before, the present status is known.
    op.execute(
        "INSERT INTO submission_events (submission_ref, status, reason, created_at)"
        " SELECT ref, status, reason, coalesce(finished_at, accepted_at) FROM submissions ORDER BY ref"
    )
    op.create_index("ix_jobs_finished", "jobs", ["finished_at"], unique=False)
    op.create_index(
        "ix_jobs_done",
        "jobs",
        ["queue", "track_id", sa.literal_column("finished_at DESC")],
        unique=False,
        postgresql_where=sa.text("state = 'done' AND priority = 0"),
    )
    op.add_column("mails", sa.Column("link", sa.Text(), nullable=True))
    op.create_table(
        "notices",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_notices_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
    )
    op.create_index("ix_notices_account", "notices", ["account_id", sa.literal_column("id DESC")], unique=False)
    op.create_index(
        "ix_notices_unread", "notices", ["account_id"], unique=False, postgresql_where=sa.text("read_at IS NULL")
    )
    op.create_table(
        "mail_choices",
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("mailed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_mail_choices_account_id")),
        sa.PrimaryKeyConstraint("account_id", "kind", name=op.f("pk_mail_choices")),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_webhooks_account_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_webhooks_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_account_id"), "webhooks", ["account_id"], unique=False)
    op.create_index(op.f("ix_webhooks_team_id"), "webhooks", ["team_id"], unique=False)
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("webhook_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'sending', 'sent', 'failed')", name=op.f("ck_deliveries_state")),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name=op.f("fk_deliveries_webhook_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
    )
    op.create_index(
        "ix_deliveries_waiting",
        "deliveries",
        ["webhook_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('waiting', 'sending')"),
    )
    op.create_index("ix_deliveries_webhook", "deliveries", ["webhook_id", sa.literal_column("id DESC")], unique=False)


def downgrade() -> None:
    """Take back."""
    for table in ("deliveries", "webhooks", "mail_choices", "notices"):
        op.drop_table(table)
    op.drop_column("mails", "link")
    op.drop_index("ix_jobs_done", table_name="jobs", postgresql_where=sa.text("state = 'done' AND priority = 0"))
    op.drop_index("ix_jobs_finished", table_name="jobs")
    op.drop_index("ix_submission_events_submission", table_name="submission_events")
    op.drop_table("submission_events")
