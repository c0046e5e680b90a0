"""Accounts can be deleted: their names leave the rows that the service may only add to."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# The service may not change these rows. It may have this function, which does no more than this, do it for an account
# that is marked as deleted.
ERASE_NAMES = """
    CREATE FUNCTION erase_names(erased bigint, pseudonym text, team_names text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        person accounts;
        names text[];
    BEGIN
        SELECT * INTO STRICT person FROM accounts WHERE id = erased AND deleted_at IS NOT NULL;
        names := array_remove(ARRAY[lower(person.handle), lower(person.email)], NULL);
        UPDATE audit_entries SET subject = 'account:' || pseudonym,
               before = CASE WHEN action LIKE 'second-factor%' THEN NULL ELSE before END,
               after = CASE WHEN action LIKE 'second-factor%' THEN NULL ELSE after END
        WHERE subject = 'account:' || person.handle;
        UPDATE audit_entries SET address = NULL WHERE actor_id = erased AND address IS NOT NULL;
        UPDATE audit_entries SET after = jsonb_set(after, '{email}', to_jsonb(pseudonym))
        WHERE action = 'invitation.made' AND lower(after->>'email') = ANY (names);
        UPDATE audit_entries SET before = jsonb_set(before, '{who}', to_jsonb(pseudonym))
        WHERE action = 'guest.withdrawn' AND lower(before->>'who') = ANY (names);
        UPDATE audit_entries SET after = jsonb_set(after, '{who}', (
            SELECT jsonb_agg(CASE WHEN lower(who) = ANY (names) THEN pseudonym ELSE who END ORDER BY place)
            FROM jsonb_array_elements_text(after->'who') WITH ORDINALITY AS guest (who, place)))
        WHERE action = 'guests.invited'
          AND EXISTS (SELECT FROM jsonb_array_elements_text(after->'who') AS who WHERE lower(who) = ANY (names));
        UPDATE guests SET account_id = erased, email = NULL WHERE email = lower(person.email);
        UPDATE team_renamings AS act
        SET before = CASE WHEN act.before = ANY (team_names) THEN team.name ELSE act.before END,
            after = CASE WHEN act.after = ANY (team_names) THEN team.name ELSE act.after END
        FROM teams AS team
        WHERE team.id = act.team_id AND (act.before = ANY (team_names) OR act.after = ANY (team_names))
          AND team.id IN (SELECT team_id FROM memberships WHERE account_id = erased);
        DELETE FROM identities WHERE account_id = erased;
        DELETE FROM notices WHERE account_id = erased;
        UPDATE notices SET subject = 'An invitation', body = 'Whoever made it has deleted their account.'
        WHERE kind = 'invitation' AND strpos(body, person.name || ' (' || person.handle || ')') = 1;
        DELETE FROM mail_choices WHERE account_id = erased;
    END $$
"""


def upgrade() -> None:
    """Apply."""
    op.add_column("accounts", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(ERASE_NAMES)


def downgrade() -> None:
    """Take back."""
    op.execute("DROP FUNCTION erase_names(bigint, text, text[])")
    op.drop_column("accounts", "deleted_at")
