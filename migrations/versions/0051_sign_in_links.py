"""Links that sign somebody in once."""

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

NAME = "ck_one_time_links_purpose"
PURPOSES = ("reset", "confirmation", "invitation")


def upgrade() -> None:
    """Apply."""
    _allow((*PURPOSES, "sign-in"), not_valid=True)
    with op.get_context().autocommit_block():  # which lets others write meanwhile
        op.execute(f"ALTER TABLE one_time_links VALIDATE CONSTRAINT {NAME}")


def _allow(purposes: tuple[str, ...], *, not_valid: bool) -> None:
    named = ", ".join(f"'{purpose}'" for purpose in purposes)
    op.drop_constraint(op.f(NAME), "one_time_links", type_="check")
    op.create_check_constraint(op.f(NAME), "one_time_links", f"purpose IN ({named})", postgresql_not_valid=not_valid)


def downgrade() -> None:
    """Take back."""
    op.execute("DELETE FROM one_time_links WHERE purpose = 'sign-in'")
    _allow(PURPOSES, not_valid=False)
