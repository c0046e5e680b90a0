"""Announcements, messages to teams, requests for code."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _create("announcements", "competition_id", "competitions.id", sa.Column("title", sa.Text(), nullable=False))
    _create("team_messages", "team_id", "teams.id")
    until = sa.Column("until", sa.DateTime(timezone=True), nullable=False)
    _create("code_requests", "submission_ref", "submissions.ref", until)
    op.create_index("ix_announcements_newest", "announcements", ["competition_id", sa.literal_column("id DESC")])
    op.create_index(op.f("ix_team_messages_team_id"), "team_messages", ["team_id"])
    op.create_index("ix_code_requests_newest", "code_requests", ["submission_ref", sa.literal_column("id DESC")])
    # A competition's page shows the newest ones beside its board.
    op.execute(
        "CREATE TRIGGER note_announcements AFTER INSERT ON announcements REFERENCING NEW TABLE AS added"
        " FOR EACH STATEMENT EXECUTE FUNCTION note_data_files()"
    )


def _create(name: str, key: str, target: str, *columns: sa.Column[Any]) -> None:
    """A table of what organizers write about ``key``."""
    op.create_table(
        name,
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column(key, sa.BigInteger(), nullable=False),
        *columns,
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint([key], [target], name=op.f(f"fk_{name}_{key}")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f(f"fk_{name}_author_id")),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{name}")),
        info={"append_only": True},
    )


def downgrade() -> None:
    """Take back."""
    for name in ("code_requests", "team_messages", "announcements"):
        op.drop_table(name)
