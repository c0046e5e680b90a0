"""People sign in: passwords, sessions, scoped tokens, one-time links, accepted rules; the audit log and the outbox."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "mails",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'sending', 'sent', 'failed', 'unknown', 'expired')", name=op.f("ck_mails_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mails")),
    )
    op.create_index(
        "ix_mails_waiting",
        "mails",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('waiting', 'sending')"),
    )
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_id", sa.BigInteger(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("before", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("after", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(["actor_id"], ["accounts.id"], name=op.f("fk_audit_entries_actor_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
        info={"append_only": True},
    )
    op.create_index(op.f("ix_audit_entries_actor_id"), "audit_entries", ["actor_id"], unique=False)
    op.create_index(op.f("ix_audit_entries_created_at"), "audit_entries", ["created_at"], unique=False)
    op.create_table(
        "identities",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_identities_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identities_issuer_subject")),
    )
    op.create_index(op.f("ix_identities_account_id"), "identities", ["account_id"], unique=False)
    op.create_table(
        "one_time_links",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "purpose IN ('reset', 'confirmation', 'invitation')", name=op.f("ck_one_time_links_purpose")
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_one_time_links_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_links")),
        sa.UniqueConstraint("digest", name=op.f("uq_one_time_links_digest")),
    )
    op.create_index(op.f("ix_one_time_links_account_id"), "one_time_links", ["account_id"], unique=False)
    op.create_table(
        "web_sessions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_web_sessions_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_web_sessions")),
        sa.UniqueConstraint("digest", name=op.f("uq_web_sessions_digest")),
    )
    op.create_index(op.f("ix_web_sessions_account_id"), "web_sessions", ["account_id"], unique=False)
    op.create_table(
        "rules_acceptances",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("rules_sha256", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_rules_acceptances_account_id")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_rules_acceptances_competition_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rules_acceptances")),
        sa.UniqueConstraint(
            "competition_id",
            "account_id",
            "rules_sha256",
            name=op.f("uq_rules_acceptances_competition_id_account_id_rules_sha256"),
        ),
        info={"append_only": True},
    )
    op.create_index(op.f("ix_rules_acceptances_account_id"), "rules_acceptances", ["account_id"], unique=False)
    op.add_column("accounts", sa.Column("email", sa.Text(), nullable=True))
    op.add_column("accounts", sa.Column("password_hash", sa.Text(), nullable=True))
    op.create_index("ix_accounts_name", "accounts", [sa.literal_column("lower(NORMALIZE(name, NFKC))")], unique=False)
    op.create_index("uq_accounts_email", "accounts", [sa.literal_column("lower(email)")], unique=True)
    # Until now every token could do all that its owner can.
    every = sa.text("'{read,submit,organize}'")
    op.add_column("tokens", sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False, server_default=every))
    op.alter_column("tokens", "scopes", server_default=None)


def downgrade() -> None:
    """Take back."""
    op.drop_column("tokens", "scopes")
    op.drop_index("uq_accounts_email", table_name="accounts")
    op.drop_index("ix_accounts_name", table_name="accounts")
    op.drop_column("accounts", "password_hash")
    op.drop_column("accounts", "email")
    op.drop_index(op.f("ix_rules_acceptances_account_id"), table_name="rules_acceptances")
    op.drop_table("rules_acceptances")
    op.drop_index(op.f("ix_web_sessions_account_id"), table_name="web_sessions")
    op.drop_table("web_sessions")
    op.drop_index(op.f("ix_one_time_links_account_id"), table_name="one_time_links")
    op.drop_table("one_time_links")
    op.drop_index(op.f("ix_identities_account_id"), table_name="identities")
    op.drop_table("identities")
    op.drop_index(op.f("ix_audit_entries_created_at"), table_name="audit_entries")
    op.drop_index(op.f("ix_audit_entries_actor_id"), table_name="audit_entries")
    op.drop_table("audit_entries")
    op.drop_index("ix_mails_waiting", table_name="mails", postgresql_where=sa.text("state IN ('waiting', 'sending')"))
    op.drop_table("mails")
