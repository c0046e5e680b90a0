"""Data files in the feed of what changes boards: a competition's page lists them beside its board."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(
        "CREATE FUNCTION note_data_files() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO board_changes (competition_id, track_id, kind, submission_refs)"
        " SELECT competition_id, NULL::bigint, 'competition', NULL::bigint[] FROM added GROUP BY 1;"
        " RETURN NULL; END $$"
    )
    op.execute(
        "CREATE TRIGGER note_data_files AFTER INSERT ON data_files REFERENCING NEW TABLE AS added"
        " FOR EACH STATEMENT EXECUTE FUNCTION note_data_files()"
    )


def downgrade() -> None:
    """Take back."""
    op.execute("DROP TRIGGER note_data_files ON data_files")
    op.execute("DROP FUNCTION note_data_files()")
