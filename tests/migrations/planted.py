"""Adds migrations to a copy of the repository's."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent

import pytest

import migrations

PLANTED = "planted"
"""The revision of the planted migration."""
SOURCE = """
from alembic import op

from migrations.concurrent_indexes import create_index

revision = "{revision}"
down_revision = "{newest}"


def upgrade():
{upgrade}


def downgrade():
{downgrade}
"""


@contextmanager
def planted(folder: Path, upgrade: str, downgrade: str = "pass", revision: str = PLANTED) -> Iterator[None]:
    """Replace the migrations with a copy in ``folder`` that has one more, with these bodies of its two functions."""
    copy = folder / revision
    shutil.copytree(migrations.FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    source = SOURCE.format(
        revision=revision,
        newest=migrations.newest_revision(),
        upgrade=indent(upgrade, "    "),
        downgrade=indent(downgrade, "    "),
    )
    (copy / "versions" / f"{revision}.py").write_text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "FOLDER", copy)
        migrations.newest_revision.cache_clear()
        yield
    migrations.newest_revision.cache_clear()
