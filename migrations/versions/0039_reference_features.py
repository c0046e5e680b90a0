"""Features in place of reference images, each for one extractor."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

ROLES = ("train", "held_out", "private_extra")
FEATURES = ("public_features", "private_features")


def upgrade() -> None:
    """Apply."""
    op.add_column("competition_references", sa.Column("extractor", sa.Text(), nullable=True), if_not_exists=True)
    _allow((*ROLES, *FEATURES), not_valid=True)
    with op.get_context().autocommit_block():  # which lets others write meanwhile
        op.execute("ALTER TABLE competition_references VALIDATE CONSTRAINT ck_competition_references_role")


def _allow(roles: tuple[str, ...], *, not_valid: bool) -> None:
    named = ", ".join(f"'{role}'" for role in roles)
    name = op.f("ck_competition_references_role")
    op.drop_constraint(name, "competition_references", type_="check")
    op.create_check_constraint(name, "competition_references", f"role IN ({named})", postgresql_not_valid=not_valid)


def downgrade() -> None:
    """Take back; features are attached no more."""
    op.execute("DELETE FROM competition_references WHERE role IN ('public_features', 'private_features')")
    _allow(ROLES, not_valid=False)
    op.drop_column("competition_references", "extractor")
