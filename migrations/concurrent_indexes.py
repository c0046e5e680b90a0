"""Create indexes of tables in use."""

from collections.abc import Sequence
from typing import Any

from alembic import op
from sqlalchemy import TextClause, text

INVALID = text("SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(:name) AND NOT indisvalid)")


def create_index(name: str, table: str, columns: Sequence[str | TextClause], **options: Any) -> None:
    """Create an index while others write, in a block that commits separately. A migration can repeat it: it recreates
    an index that a failed run has left invalid, and keeps a valid one. ``options`` are those of ``op.create_index``.
    """
    with op.get_context().autocommit_block():
        if op.get_bind().scalar(INVALID, {"name": name}):
            op.drop_index(name, table_name=table, postgresql_concurrently=True)
        op.create_index(name, table, columns, if_not_exists=True, postgresql_concurrently=True, **options)
